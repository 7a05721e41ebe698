// Package instead holds the examples of docs/instead-of-a-lock.md. Its tests run them,
// and see to it that the page shows them as they are.
package instead

package servers

import (
	"os/exec"
	"path/filepath"
)

// Where Debian puts PostgreSQL's own programs.
const debianPostgres = "/usr/lib/postgresql/*/bin"

// preparePostgres makes a cluster whose superuser is driftlock, without a password.
func (s *Server) preparePostgres() error {
	path, err := program("initdb", debianPostgres)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, "-D", s.data(), "-U", "driftlock", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if err := s.unprivileged(cmd, "postgres"); err != nil {
		return err
	}
	return do(cmd)
}

// postgres runs without syncs: a test may kill the server, but not the machine.
func (s *Server) postgres(port string) (*exec.Cmd, string, error) {
	path, err := program("postgres", debianPostgres)
	if err != nil {
		return nil, "", err
	}
	cmd := exec.Command(path, "-D", s.data(), "-p", port, "-h", "127.0.0.1", "-k", "", "-c", "fsync=off", "-c", "max_connections=200")
	return cmd, "ready to accept connections", s.unprivileged(cmd, "postgres")
}

// prepareMariaDB makes a data folder.
func (s *Server) prepareMariaDB() error {
	path, err := program("mariadb-install-db")
	if err != nil {
		return err
	}
	if _, err := program("mariadbd", "/usr/sbin", "/usr/libexec"); err != nil {
		return err
	}
	cmd := exec.Command(path, append(s.quick(), "--skip-test-db", "--auth-root-authentication-method=normal")...)
	if err := s.unprivileged(cmd, "mysql"); err != nil {
		return err
	}
	return do(cmd)
}

// mariadb lets everybody in.
func (s *Server) mariadb(port string) (*exec.Cmd, string, error) {
	path, err := program("mariadbd", "/usr/sbin", "/usr/libexec")
	if err != nil {
		return nil, "", err
	}
	cmd := exec.Command(path, append(s.quick(), "--skip-grant-tables", "--skip-name-resolve", "--port="+port, "--bind-address=127.0.0.1",
		"--socket="+filepath.Join(s.dir, "s"), "--pid-file="+filepath.Join(s.dir, "pid"), "--innodb-flush-log-at-trx-commit=2", "--max-connections=200")...)
	return cmd, "ready for connections", s.unprivileged(cmd, "mysql")
}

// quick are the options of MariaDB's programs that concern its files. What it flushes
// survives its own end, not that of the machine. Its temporary tables are its own: one
// that starts deletes those in its folder, whose ever they are.
func (s *Server) quick() []string {
	return []string{"--no-defaults", "--datadir=" + s.data(), "--tmpdir=" + s.dir, "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M"}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

//! Servers that follow another one and take over from it, and what may happen to either.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use super::{Cluster, Database, OWNER, account, lock_file, pass_gate, succeed, unique};
use crate::wait::until;

impl Cluster {
    /// A server that follows this one, by this name. Whether commits wait for it, the primary says.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn standby(&self, name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("yesgate-postgres-{}", unique()));
        let _gate = pass_gate(&folder);
        let user = lock_file(&folder.join("users"));
        user.lock_shared().expect("the users of the cluster");
        let standby = Self { folder, _user: user };
        if let Some(account) = account() {
            succeed(Command::new("chown").arg(account).arg(&standby.folder));
        }
        succeed(
            standby
                .as_server("pg_basebackup")
                .args(["-U", OWNER, "-c", "fast", "-X", "stream", "--no-sync", "-h"])
                .arg(&self.folder)
                .arg("-D")
                .arg(standby.data()),
        );
        let data = standby.data();
        fs::write(data.join("standby.signal"), "").expect("a file of the standby");
        let primary = self.folder.display();
        let settings = fs::read_to_string(data.join("postgresql.auto.conf")).unwrap_or_default();
        let follow = format!(
            "{settings}primary_conninfo = 'host={primary} user={OWNER} application_name={name}'\n\
             wal_retrieve_retry_interval = 100\n"
        );
        fs::write(data.join("postgresql.auto.conf"), follow).expect("a file of the standby");
        standby.go(&["-c max_connections=200", "-c shared_buffers=64MB"]);
        standby.watch();
        until("the standby follows", || {
            let found =
                self.psql("postgres", "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'");
            (found != "0").then_some(())
        });
        standby
    }

    /// Has every commit wait until this standby, or any where it is `*`, has it on its disk.
    ///
    /// # Panics
    /// When no standby of that name becomes synchronous.
    pub fn wait_for(&self, standby: &str) {
        self.set("synchronous_standby_names", standby);
        until("the standby is synchronous", || {
            let found = self.psql(
                "postgres",
                "SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')",
            );
            (found != "0").then_some(())
        });
    }

    /// Sets something for the whole server, while it runs.
    ///
    /// # Panics
    /// When the server does not take it.
    pub fn set(&self, setting: &str, value: &str) {
        self.psql("postgres", &format!("ALTER SYSTEM SET {setting} = '{value}'"));
        self.psql("postgres", "SELECT pg_reload_conf()");
        until("the setting holds", || {
            (self.psql("postgres", &format!("SHOW {setting}")) == value).then_some(())
        });
    }

    /// Waits until this standby has what its primary has written so far.
    ///
    /// # Panics
    /// When it does not get it.
    pub fn catch_up(&self, primary: &Self) {
        let end = primary.psql("postgres", "SELECT pg_current_wal_insert_lsn()");
        until("the standby has it all", || {
            let has = format!("SELECT pg_last_wal_replay_lsn() >= '{end}'");
            (self.psql("postgres", &has) == "t").then_some(())
        });
    }

    /// Cuts this standby off from its primary: nothing that is committed from now on arrives.
    ///
    /// # Panics
    /// When it goes on to receive.
    pub fn stop_receiving(&self) {
        self.set("primary_conninfo", "");
        until("the standby receives no more", || {
            (self.psql("postgres", "SELECT count(*) FROM pg_stat_wal_receiver") == "0").then_some(())
        });
    }

    /// Makes this standby the primary.
    ///
    /// # Panics
    /// When it does not become one.
    pub fn promote(&self) {
        succeed(self.as_server("pg_ctl").args(["promote", "-w", "-D"]).arg(self.data()));
    }

    /// Ends it as `kill -9` does, without a word to anybody.
    ///
    /// # Panics
    /// When it does not run.
    pub fn kill9(&self) {
        let lines = fs::read_to_string(self.data().join("postmaster.pid")).expect("a running server");
        let pid = lines.lines().next().expect("its number").trim();
        succeed(Command::new("kill").args(["-9", pid]));
        let own = format!("/proc/{pid}");
        until("the server is gone", || (!Path::new(&own).exists()).then_some(()));
    }

    /// Starts it again with TLS, on a port of this machine, which is returned. Its certificate is for `localhost` and
    /// `127.0.0.1`, by the authority of [`DocumentServer`](crate::DocumentServer). It listens at no socket any more.
    ///
    /// # Panics
    /// When it does not come back.
    #[must_use]
    pub fn go_with_tls(&self) -> u16 {
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/document_server");
        for (from, to) in [("server.pem", "server.crt"), ("server-key.pem", "server.key")] {
            let to = self.data().join(to);
            fs::copy(files.join(from), &to).expect("a file of the server");
            if let Some(account) = account() {
                succeed(Command::new("chown").arg(account).arg(&to));
            }
            succeed(Command::new("chmod").arg("600").arg(&to));
        }
        self.stop("fast");
        let free = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr());
        let port = free.expect("a free port").port();
        self.go(&["-c listen_addresses=127.0.0.1", &format!("-c port={port}"), "-c ssl=on"]);
        port
    }
}

impl Database {
    /// Its address at several servers: whichever can be written is meant.
    #[must_use]
    pub fn address_at(&self, clusters: &[&Cluster]) -> String {
        let hosts: Vec<String> = clusters.iter().map(|one| one.socket().display().to_string()).collect();
        self.address_by(Path::new(&hosts.join(",")))
    }
}

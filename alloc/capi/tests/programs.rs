//! Programs that know nothing of the library print the same with it as without it.

mod common;

use common::{Folder, command, find, same_output, stdout};
use std::fs;
use std::path::{Path, PathBuf};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/scripts")
        .join(name)
}

#[test]
fn python() {
    same_output("python3", |command| {
        command.arg(script("work.py"));
    });
}

/// Without Python's own allocator of small objects in between.
#[test]
fn python_on_malloc_alone() {
    if let Some(python) = find("python3") {
        let [plain, preloaded] = [false, true].map(|preloaded| {
            let mut run = command(Path::new("env"), preloaded);
            stdout(
                run.arg("PYTHONMALLOC=malloc")
                    .arg(&python)
                    .arg(script("work.py")),
            )
        });
        assert_eq!(plain, preloaded);
    }
}

#[test]
fn ruby() {
    same_output("ruby", |command| {
        command.arg(script("work.rb"));
    });
}

#[test]
fn node() {
    same_output("node", |command| {
        command.arg(script("work.js"));
    });
}

#[test]
fn lua() {
    same_output("lua5.4", |command| {
        command.arg(script("work.lua"));
    });
}

#[test]
fn perl() {
    same_output("perl", |command| {
        command.arg(script("work.pl"));
    });
}

#[test]
fn a_pipeline_of_the_shell() {
    same_output("bash", |command| {
        command.args([
            "-c",
            "set -eo pipefail
            seq 1 50000 | awk '{ print $1 * 7919 % 50021, \"line\", $1 }' | sort -n | sed -n '1~500p' | tail -n 20
            words=($(seq 1 3000)); declare -A table
            for word in \"${words[@]}\"; do table[$word]=$((word * word)); done
            echo ${#table[@]} ${table[77]}
            for i in 1 2 3; do (echo child $i | tr a-z A-Z) & wait; done
            for i in $(seq 200); do x=$(echo $i); done; echo $x",
        ]);
    });
}

#[test]
fn sort_with_threads() {
    let folder = Folder::new("sort");
    let file = folder.path().join("numbers");
    let mut state = 7u32;
    let lines: String = (0..300_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            format!("{}\n", state >> 8)
        })
        .collect();
    fs::write(&file, lines).unwrap();
    same_output("sort", |command| {
        command.args(["-n", "--parallel=4", "-S", "20M"]).arg(&file);
    });
}

#[test]
fn a_compiler_and_what_it_compiles() {
    let Some(gcc) = find("gcc") else { return };
    let folder = Folder::new("gcc");
    let source = folder.path().join("made.c");
    let functions: String = (0..200)
        .map(|nth| {
            format!(
                "struct s{nth} {{ int a[{n}]; char *name; }};\n\
                 static int f{nth}(int x) {{ struct s{nth} s = {{{{0}}, \"{nth}\"}}; \
                 for (int i = 0; i < {n}; i++) s.a[i] = x * i ^ {nth}; return s.a[x % {n}] + s.name[0]; }}\n",
                n = nth % 30 + 1
            )
        })
        .collect();
    let calls: String = (0..200)
        .map(|nth| format!("sum += f{nth}(sum & 1023);\n"))
        .collect();
    fs::write(
        &source,
        format!("#include <stdio.h>\n{functions}int main(void) {{ unsigned sum = 1;\n{calls}printf(\"%u\\n\", sum); }}\n"),
    )
    .unwrap();
    let [plain, preloaded] = [false, true].map(|preloaded| {
        let program = folder.path().join(format!("made-{preloaded}"));
        stdout(
            command(&gcc, preloaded)
                .arg("-O2")
                .arg("-o")
                .arg(&program)
                .arg(&source),
        );
        (
            stdout(&mut command(&program, preloaded)),
            fs::read(&program).unwrap(),
        )
    });
    assert_eq!(plain.0, preloaded.0);
    assert!(plain.1 == preloaded.1, "the compiler makes something else");
}

#[test]
fn git() {
    let Some(git) = find("git") else { return };
    let [plain, preloaded] = [false, true].map(|preloaded| {
        let folder = Folder::new(&format!("git-{preloaded}"));
        let git = |arguments: &[&str]| {
            let mut run = command(Path::new("env"), preloaded);
            run.current_dir(folder.path())
                .args(["GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"])
                .args([
                    "GIT_AUTHOR_DATE=2001-01-01T00:00:00Z",
                    "GIT_COMMITTER_DATE=2001-01-01T00:00:00Z",
                ])
                .arg(&git)
                .args([
                    "-c",
                    "user.name=a",
                    "-c",
                    "user.email=a@example.com",
                    "-c",
                    "pack.threads=4",
                ])
                .args(arguments);
            stdout(&mut run)
        };
        git(&["init", "-q", "-b", "main"]);
        for nth in 0..5 {
            for file in 0..80 {
                let text = format!("file {file} {nth}\n").repeat((file + nth) * 5 + 1);
                fs::write(folder.path().join(format!("file-{file}")), text).unwrap();
            }
            git(&["add", "."]);
            git(&["commit", "-qm", &format!("Commit {nth}")]);
        }
        git(&["gc", "--quiet", "--aggressive"]);
        git(&["fsck", "--strict"]);
        [
            git(&["log", "--stat"]),
            git(&["diff", "HEAD~3"]),
            git(&["status", "--porcelain"]),
            git(&["grep", "-c", "file 7"]),
        ]
    });
    assert!(plain[0].contains("Commit 4"));
    assert_eq!(plain, preloaded);
}

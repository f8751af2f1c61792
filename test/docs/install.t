#!/usr/bin/env bash
# The files that `make install` puts under a prefix do not need the checkout. They are installed
# from a copy of it, which is then moved away. The programs must work on a real server, and a C
# program must compile with nothing but the flags of pkg-config.
set -u
# shellcheck source=test/docs/common.sh
. "$(dirname "$0")/common.sh"

[ -n "${LOCKQ_DEFAULTS_FILE-}" ] || eval "$("$top/scripts/sandbox" env)"
database=docs_install
scratch=$(mktemp -d "${TMPDIR:-/tmp}/install.XXXXXX")
sql() { "$top/scripts/sandbox" mysql --batch --skip-column-names --database="$database" "$@"; }
trap 'sql --execute "DROP DATABASE IF EXISTS $database"; rm -rf "$scratch"' EXIT

# The caller's make, its settings and other libraries must not matter.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES BUILD CLIENT SANITIZE DESTDIR prefix bindir \
	libdir includedir datadir mandir LD_LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_LIBDIR

# The copy has the MySQL under build/, too, but an install must not use it.
copy=$scratch/copy prefix=$scratch/prefix
mkdir -p "$copy/build" "$scratch/no-packages"
tar -C "$top" --exclude=./build --exclude=./.git -cf - . | tar -C "$copy" -xf -
[ ! -d "$top/build/mysql" ] || ln -s "$top/build/mysql" "$copy/build/mysql"

# install_copy ARGUMENT…: `make install` in the copy; errors are shown.
install_copy() {
	run make -C "$copy" install "$@"
	[ "$status" -eq 0 ] || printf '%s\n' "$err" | tail -n 5 | sed 's/^/#   /' >&2
}

# files FOLDER: prints the files in it and in its folders.
files() {
	[ ! -e "$1" ] || find "$1" ! -type d
}

# interpreter FILE, runpath FILE: print these entries as the dynamic linker reads them.
interpreter() {
	readelf -lW "$1" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p'
}
runpath() {
	readelf -dW "$1" | sed -n 's/.*(R\(UN\)\{0,1\}PATH).*\[\(.*\)\]/\2/p'
}

# --- which client -------------------------------------------------------------------------------

run env PKG_CONFIG_LIBDIR="$scratch/no-packages" make -C "$copy" install prefix="$prefix"
ok $((status == 2 ? 0 : 1)) 'without a client library on the machine make install fails'
is "$(grep -v '^make' <<<"$err")" "setup: \`make install\` links with the machine's MySQL client \
library, and there is none: install libmariadb-dev, or MySQL's own libmysqlclient-dev" \
	'one line names the packages to install'
is "$(files "$prefix")" '' 'nothing is installed'

# client_kind NAME FOLDER: prints the kind of client that `make install` would use if FOLDER's
# mysql.h were mysqlclient's.
client_kind() {
	mkdir "$scratch/$1"
	printf '%s\n' "includedir=$2" 'Name: mysqlclient' 'Description: a client' 'Version: 21' \
		"Cflags: -I\${includedir}" 'Libs: -lmysqlclient' >"$scratch/$1/mysqlclient.pc"
	PKG_CONFIG_PATH=$scratch/$1 run "$copy/scripts/setup" client-mk installed \
		"$scratch/$1/client.mk"
	sed -n 's/^CLIENT_KIND := //p' "$scratch/$1/client.mk"
}
is "$(client_kind fork "$(pkg-config --variable=includedir libmariadb)")" mariadb \
	"MariaDB's library under the name mysqlclient is no genuine mysqlclient"
genuine=$top/build/mysql/root/usr/include/mysql
[ -e "$genuine/mysql.h" ] || genuine=$(pkg-config --variable=includedir mysqlclient 2>/dev/null)
is "$(client_kind genuine "$genuine")" system "MySQL's own is taken before MariaDB's"

# --- install, and take the checkout away --------------------------------------------------------

install_copy prefix="$prefix"
ok "$status" 'make install'
install_copy prefix="$scratch/elsewhere" DESTDIR="$scratch/stage"
ok "$status" 'make install with DESTDIR'
is "$(files "$scratch/elsewhere")" '' 'it writes nothing outside of DESTDIR'
is "$(runpath "$scratch/stage$scratch/elsewhere/bin/getwork")" "$scratch/elsewhere/lib" \
	'the programs look for the library in libdir, not in DESTDIR'
run grep -rIl "$scratch/stage" "$scratch/stage"
is "$out" '' 'no file names DESTDIR'
run make -C "$copy" uninstall prefix="$scratch/elsewhere" DESTDIR="$scratch/stage"
is "$status:$(files "$scratch/stage")" 0: 'make uninstall with DESTDIR leaves no file'

install_copy prefix=/usr DESTDIR="$scratch/stage"
is "$status:$(runpath "$scratch/stage/usr/bin/getwork")" 0: \
	"no rpath to /usr/lib, which is the dynamic linker's own"
install_copy prefix=/usr/local DESTDIR="$scratch/stage"
is "$status:$(runpath "$scratch/stage/usr/local/bin/getwork")" 0:/usr/local/lib \
	'an rpath to /usr/local/lib, which it knows only where it was configured to'

# ldconfig_runs ARGUMENT…: prints how often `make install` would run ldconfig. It is not run here,
# since the test must not change the machine.
ldconfig_runs() {
	make -n -C "$copy" install "$@" | grep -c ldconfig
}
is "$(ldconfig_runs prefix=/usr/local)" 1 'ldconfig tells the dynamic linker of /usr/local/lib'
is "$(ldconfig_runs prefix=/usr/local DESTDIR="$scratch/stage")" 0 \
	'with DESTDIR ldconfig does not run'
is "$(ldconfig_runs prefix="$prefix")" 0 "for a user's folder ldconfig does not run"

mv "$copy" "$scratch/moved"
for file in "$prefix"/bin/* "$prefix/lib/liblockq.so"; do
	name=${file##*/}
	[ "$name" != lockq-migrate ] || continue
	run ldd "$file"
	is "$status:$(grep -Fe "$scratch/copy" -e /build/ -e 'not found' <<<"$out")" 0: \
		"$name finds all its libraries, and none in the checkout"
	is "$(runpath "$file" | grep -vFx "$prefix/lib")" '' "$name looks nowhere else"
	[ "$name" = liblockq.so ] || is "$(interpreter "$file")" "$(interpreter /bin/sh)" \
		"$name is run by the system's dynamic linker"
done

# --- the programs -------------------------------------------------------------------------------

(umask 077; sed "s/^database=.*/database=$database/" "$LOCKQ_DEFAULTS_FILE" \
	>"$scratch/lockq.cnf")
"$top/scripts/sandbox" database "$database" >/dev/null 2>"$scratch/output"
ok $? 'a database of their own'
export LOCKQ_DEFAULTS_FILE=$scratch/lockq.cnf

# installed PROGRAM ARGUMENT…: runs it with no other program of lockq or MySQL in PATH.
installed() {
	run env PATH="$prefix/bin:/usr/bin:/bin" "$@"
	[ "$status" -eq 0 ] || printf '%s\n' "$err" | sed 's/^/#   /' >&2
}
installed lockq-migrate --version
is "$status:$out" "0:lockq-migrate (lockq) $(lockq_version)" \
	'lockq-migrate knows its version'
installed lockq-migrate --database nowhere
is "$(grep -c "there is no directory" <<<"$err")" 0 'and finds its schema'
installed seedloans --loans 300 --seed 5
ok "$status" 'seedloans fills it'
installed getwork --user tracy --task 7 --count 1 --json
ok "$status" 'getwork asks for a loan'
loan=$(jq -r '.loans[0].loan_id' <<<"$out")
is "$(sql --execute "SELECT state FROM work WHERE task_id = 7 AND loan_id = '$loan'")" assigned \
	'the table has that loan as assigned'
installed checkwork --user tracy --task 7 --json
is "$status:$(jq -r .loan_id <<<"$out")" "0:$loan" 'checkwork shows it'
installed disposition --user tracy --task 7 --loan "$loan" --complete
is "$status:$out" "0:loan $loan: completed" 'disposition completes it'
is "$(sql --execute "SELECT state FROM work WHERE task_id = 7 AND loan_id = '$loan'")" completed \
	'the table has it as completed'

# --- the library --------------------------------------------------------------------------------

cd "$scratch" || exit 1
cp "$top/examples/ask.c" .
command=$(sed -n 's/^ \*   \(cc ask\.c .*\)/\1/p' ask.c)

# compile COMMAND: runs it as a reader would who has the prefix and no checkout.
compile() {
	run env PKG_CONFIG_PATH="$prefix/lib/pkgconfig" bash -c "set -e; $1"
	is "$status:$err" 0: "examples/ask.c compiles: $1"
}
compile "$command"
installed env LD_LIBRARY_PATH="$prefix/lib" ./ask oliver 7 2
is "$status:$(grep -Ec '^loan [0-9]+: (completed|returned)$' <<<"$out")" 0:2 'it works'

# With nothing but liblockq.a.
mkdir "$scratch/archive"
cp "$prefix/lib/liblockq.a" "$scratch/archive"
rm -f ask
compile "${command/pkg-config/pkg-config --static --define-variable=libdir=archive}"
installed ./ask ben 7 2
is "$status:$(grep -Ec '^loan [0-9]+: (completed|returned)$' <<<"$out")" 0:2 'it works'
is "$(readelf -dW ask | grep -o 'liblockq\|libc\.so')" libc.so \
	'it does not need the shared library'

run make -C "$scratch/moved" uninstall prefix="$prefix"
is "$status:$(files "$prefix")" 0: 'make uninstall, in the moved checkout, leaves no file'
finish

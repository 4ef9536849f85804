#!/bin/bash
# Tests what release.sh makes: twice the same bytes; the .deb installed, set up, upgraded, removed and purged in a root
# of its own; the unit; and what Debian's checker says. As root, on Debian. NFPM, VERSION and OUT as in release.sh, whose
# results are in OUT.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${VERSION:?}" "${NFPM:?}" "${OUT:?}"
export ARCHES=${ARCHES:-$(go env GOHOSTARCH)}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "package: $*" >&2; exit 1; }
said() { printf '== %s (%d s)\n' "$*" "$SECONDS"; }

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
sh package/release.sh >/dev/null
other=$work/another/folder
mkdir -p "$other"
git ls-files -zco --exclude-standard | tar -c --null -T - | tar -x -C "$other"
if test -d build/man; then mkdir -p "$other/build"; cp -r build/man "$other/build/"; fi
(umask 077; OUT=build/release sh "$other/package/release.sh" >/dev/null)
diff "$OUT/SHA256SUMS" "$other/build/release/SHA256SUMS" || fail "another folder makes other bytes"
rm -rf "$work/another"
said "the same bytes in two folders: $ARCHES"

arch=$(dpkg --print-architecture)
deb=$(ls "$OUT"/hostnode_*_"$arch".deb)
program=$(ls "$OUT"/hostnode-*-linux-"$(go env GOHOSTARCH)")
go version -m "$program" | grep -q CGO_ENABLED=0 || fail "$program is not static"

# unit runs systemd's checks on the unit, with the program where it was built.
mkdir "$work/unit"
sed "s|/usr/bin/hostnode|$(realpath "$program")|" package/hostnode.service >"$work/unit/hostnode.service"
complaints=$(systemd-analyze verify --man=no "$work/unit/hostnode.service" 2>&1) || fail "the unit: $complaints"
test -z "$complaints" || fail "the unit: $complaints"
systemd-analyze security --offline=true --threshold=20 "$work/unit/hostnode.service" >"$work/security" ||
	fail "the unit is too exposed: $(tail -1 "$work/security")"
said "the unit:$(tail -1 "$work/security" | sed 's/^→//')"

# Man pages come from make man.
without=(); test -d build/man || without=(--suppress-tags no-manual-page)
LC_ALL=C lintian --allow-root --tag-display-limit 0 --fail-on error,warning "${without[@]}" "$deb" || fail "lintian complains"
said "lintian"

root=$work/root
# begin makes an empty root with its own list of packages. Scripts run outside of it, with DPKG_ROOT, and what the
# package depends on is not in it.
begin() {
	rm -rf "$root"
	mkdir -p "$root"/var/lib/dpkg/{info,updates} "$root"/{etc,tmp}
	touch "$root/var/lib/dpkg/status"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
	echo 'root:x:0:' >"$root/etc/group"
}
dpkg_() {
	dpkg --root="$root" --log="$work/log" --force-depends --force-script-chrootless --force-confdef --force-confold "$@" \
		>>"$work/said" 2>&1 || { tail -20 "$work/said" >&2; fail "dpkg $*"; }
}
# as_host runs the installed program in the root, as its user.
as_host() { HOME=/var/lib/hostnode chroot --userspec="$ids" "$root" /usr/bin/hostnode "$@"; }
# is PATH WHAT compares mode and owner.
is() { test "$(stat -c '%a %u:%g' "$root/$1")" = "$2" || fail "$1 is $(stat -c '%a %u:%g' "$root/$1"), not $2"; }
conf=etc/hostnode/hostnode.yaml

# A package of a newer version, with another conffile.
dpkg-deb -R "$deb" "$work/newer"
sed -i 's/^Version: .*/&+newer/' "$work/newer/DEBIAN/control"
echo '# A newer version has this line.' >>"$work/newer/$conf"
dpkg-deb -Zgzip -z1 --root-owner-group -b "$work/newer" "$work/newer.deb" >/dev/null

begin
dpkg_ -i "$deb"
ids=$(awk -F: '$1 == "hostnode" { print $3 ":" $4 }' "$root/etc/passwd")
test -n "$ids" || fail "there is no user hostnode"
is "$conf" "640 $ids"
is var/lib/hostnode "700 $ids"
as_host version | grep -q "${VERSION%-dirty}" || fail "the program does not say its version: $(as_host version)"
for page in quickstart operating upgrading errors; do
	for link in $page.md $(grep -o '([a-z-]*\.md' "$root/usr/share/doc/hostnode/$page.md" | tr -d '('); do
		case $link in architecture.md | simulation.md) continue ;; esac # For those who change the program.
		test -s "$root/usr/share/doc/hostnode/$link" || fail "the page $link, of $page.md, is not in the package"
	done
done
said "installed"

# What nobody has changed is replaced, and keeps its owner and mode.
dpkg_ -i "$work/newer.deb"
grep -q 'newer version' "$root/$conf" || fail "an unchanged conffile is not replaced"
is "$conf" "640 $ids"
dpkg_ -P hostnode
test ! -e "$root/etc/hostnode" || fail "a purge leaves /etc/hostnode"

begin
dpkg_ -i "$deb"
as_host init --yes --api-listen none --config "/$conf" --data-dir /var/lib/hostnode >"$work/init" || fail "init: $(cat "$work/init")"
is "$conf" "640 $ids"
is var/lib/hostnode/account.key "600 $ids"
key=$(sha256sum <"$root/var/lib/hostnode/account.key")
as_host availability list --config "/$conf" | grep -q enabled || fail "init has put nothing on offer"
set_up=$(sha256sum <"$root/$conf")
kept() {
	test "$(sha256sum <"$root/var/lib/hostnode/account.key")" = "$key" || fail "the key is another one after $1"
}
dpkg_ -i "$work/newer.deb"
test "$(sha256sum <"$root/$conf")" = "$set_up" || fail "an upgrade changes the conffile"
is "$conf" "640 $ids"
kept upgrade
said "set up and upgraded"

dpkg_ -i "$deb" # Back to the version before.
test "$(sha256sum <"$root/$conf")" = "$set_up" || fail "a rollback changes the conffile"
as_host availability list --config "/$conf" | grep -q enabled || fail "a rollback loses what was on offer"
dpkg_ -r hostnode
test ! -e "$root/usr/bin/hostnode" || fail "remove leaves the program"
test "$(sha256sum <"$root/$conf")" = "$set_up" || fail "remove changes the conffile"
kept remove
dpkg_ -P hostnode
test ! -e "$root/etc/hostnode" || fail "purge leaves /etc/hostnode: $(ls "$root/etc/hostnode")"
kept purge
is var/lib/hostnode "700 $ids"
said "rolled back, removed and purged"

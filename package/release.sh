#!/bin/sh
# Makes what is released, in the directory OUT: static programs for each of ARCHES, a .deb with each, and their sums.
# Nothing of it depends on the directory, the user or the time: whoever builds the same commit with the same Go gets
# the same bytes. VERSION, NFPM (the program) and OUT come from the Makefile.
set -eu
: "${VERSION:?}" "${NFPM:?}" "${OUT:?}" "${ARCHES:=amd64 arm64}"
cd "$(dirname "$0")/.."

# The time of the commit is that of everything in the packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH CGO_ENABLED=0 TZ=UTC LC_ALL=C
umask 022

# Debian's versions begin with a digit, and 1.2.3+4.gabc is after 1.2.3. What has no tag yet is before any release.
case $VERSION in
v[0-9]*) deb_version=$(echo "${VERSION#v}" | sed 's/-rc/~rc/; s/-/+/; s/-/./g') ;;
*) deb_version="0~$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d.%H%M%S).$(echo "$VERSION" | sed 's/-/./g')" ;;
esac
when=$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)

rm -rf "$OUT"
mkdir -p "$OUT"

# build ARCH FILE builds the program.
build() {
	GOOS=linux GOARCH=$1 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$VERSION" \
		-o "$2" ./cmd/hostnode
}

here=$OUT/here
build "$(go env GOHOSTARCH)" "$here"
for shell in bash zsh fish; do
	"$here" completion $shell >"$OUT/$shell"
done

for ARCH in $ARCHES; do
	program=$OUT/hostnode-$VERSION-linux-$ARCH
	if test "$ARCH" = "$(go env GOHOSTARCH)"; then cp "$here" "$program"; else build "$ARCH" "$program"; fi

	# What the package has at the root of the file system; nfpm adds the conffile, which has a type of its own.
	tree=$OUT/tree
	rm -rf "$tree"
	doc=$tree/usr/share/doc/hostnode
	install -D -m 755 "$program" "$tree/usr/bin/hostnode"
	install -D -m 644 package/hostnode.service "$tree/usr/lib/systemd/system/hostnode.service"
	install -D -m 644 package/hostnode.sysusers "$tree/usr/lib/sysusers.d/hostnode.conf"
	install -D -m 644 package/copyright "$doc/copyright"
	install -D -m 644 docs/hostnode.example.yaml "$doc/examples/hostnode.yaml"
	install -D -m 644 package/lintian-overrides "$tree/usr/share/lintian/overrides/hostnode"
	# What an operator reads without a network; the links between these pages hold.
	install -m 644 docs/*.md "$doc/"
	rm "$doc/architecture.md" "$doc/simulation.md"
	install -D -m 644 -t "$doc/prometheus" docs/prometheus/rules.yml
	install -D -m 644 -t "$doc/grafana" docs/grafana/hostnode.json
	sed -i 's|(\.\./CHANGELOG\.md|(CHANGELOG.md.gz|; s|(\.\./|(https://github.com/hostnode/hostnode/blob/main/|g' "$doc"/*.md
	gzip -9n <CHANGELOG.md >"$doc/CHANGELOG.md.gz"
	printf 'hostnode (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- %s  %s\n' "$deb_version" \
		"$(sed -n 's/^maintainer: //p' package/nfpm.yaml)" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" |
		gzip -9n >"$doc/changelog.gz"
	install -D -m 644 "$OUT/bash" "$tree/usr/share/bash-completion/completions/hostnode"
	install -D -m 644 "$OUT/zsh" "$tree/usr/share/zsh/vendor-completions/_hostnode"
	install -D -m 644 "$OUT/fish" "$tree/usr/share/fish/vendor_completions.d/hostnode.fish"
	for page in build/man/*.1; do
		test -e "$page" || continue # A version whose Makefile makes none.
		install -d "$tree/usr/share/man/man1"
		gzip -9n <"$page" >"$tree/usr/share/man/man1/$(basename "$page").gz"
	done
	find "$tree" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +

	sed "s|@TREE@|$tree|; s|@VERSION@|$deb_version|; s|@ARCH@|$ARCH|; s|@MTIME@|$when|" package/nfpm.yaml >"$OUT/nfpm.yaml"
	"$NFPM" package --config "$OUT/nfpm.yaml" --packager deb --target "$OUT/" >/dev/null
	rm -rf "$tree" "$OUT/nfpm.yaml"
done
rm "$here" "$OUT/bash" "$OUT/zsh" "$OUT/fish"
cd "$OUT"
sha256sum hostnode* >SHA256SUMS
cat SHA256SUMS

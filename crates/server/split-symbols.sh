#!/bin/sh
# Runs the linker of the server's release, and puts the symbols into a file beside the program, `muster.debug`, which
# keeps the program small. Debuggers, profilers and the backtraces of panics find that file by themselves while both lie
# in one folder. Without `objcopy` the program keeps its symbols.
set -e
"$@"

program=
last=
for argument in "$@"; do
    if [ "$last" = -o ]; then
        program=$argument
    fi
    last=$argument
done

case $program in
*/release/deps/muster-* | */dist/deps/muster-*)
    if command -v objcopy >/dev/null; then
        symbols=${program%/deps/*}/muster.debug
        objcopy --only-keep-debug "$program" "$symbols"
        objcopy --strip-all --add-gnu-debuglink="$symbols" "$program"
    fi
    ;;
esac

# Every program says what it should.
set -eu
test "$(bash src/greet.sh Ada)" = "hello Ada" || { echo "greet is wrong"; exit 1; }
test "$(bash src/farewell.sh Ada)" = "goodbye Ada" || { echo "farewell is wrong"; exit 1; }

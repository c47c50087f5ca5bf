# The names of this package, for type checkers, and for `zoolab.lazy`, which imports them when they are used.

from zoolab.proxy.changes import Report as Report
from zoolab.proxy.changes import what_changed as what_changed
from zoolab.proxy.seen import Seen as Seen
from zoolab.proxy.stress import Scorecard as Scorecard

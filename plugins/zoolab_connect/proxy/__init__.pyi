# The names of this package, for type checkers, and for `zoolab.lazy`, which imports them when they are used.

from zoolab_connect.proxy.changes import Report as Report
from zoolab_connect.proxy.changes import what_changed as what_changed
from zoolab_connect.proxy.seen import Seen as Seen
from zoolab_connect.proxy.stress import Scorecard as Scorecard

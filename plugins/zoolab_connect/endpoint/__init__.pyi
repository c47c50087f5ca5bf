# The names of this package, for type checkers, and for `zoolab.lazy`, which imports them when they are used.

from zoolab_connect.endpoint.cases import ReportedCase as ReportedCase
from zoolab_connect.endpoint.cases import all_cases as all_cases
from zoolab_connect.endpoint.cases import find_cases as find_cases
from zoolab_connect.endpoint.judging import CaseVerdict as CaseVerdict
from zoolab_connect.endpoint.server import Endpoint as Endpoint
from zoolab_connect.endpoint.server import endpoint as endpoint

-- KEYS: labels of a run. ARGV: lifetime in ms, maximum number of labels, cause, label.
--- @include "add-labels"
addLabels(KEYS[1], ARGV[1], ARGV[2], ARGV[3], 4)
return 1

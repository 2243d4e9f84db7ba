"""Gates and registers on late paths in other sizes, by the times of OpenSTA.

ABC sizes gates by times of its own: it sees no registers, and takes one buffer to drive all inputs. A flow for layout
ends with sizes by the timer that judges, and so does this one. No gate is added, moved or given another function.
Registers that stand for the neighbour at a port stay as they are.
"""

from pathlib import Path

from ..liberty import Library

__all__ = ["MOST", "PATIENCE", "resized", "sizes_script"]

MOST, PATIENCE = 1000, 100
"""So many gates take another size at most, and so many endpoints may be beyond help before the rest is left as it is:
what is late all over is not a matter of sizes."""

_TAKEN = "sizes.txt"

# The worst endpoint first: each gate of its path in each size; the one that helps this endpoint most, and all that are
# late together, stays. An endpoint that none helps is left alone until another has been helped.
_SCRIPT = r"""{sizes}
proc checks {{args}} {{
  with_output_to_variable text [list {{*}}{{report_checks -path_delay max -digits 2}} {{*}}$args]
  return $text
}}
proc ends {{args}} {{
  set found {{}}
  set line {{(?n)^(\S+/\S+) \(\S+\) +\S+ +\S+ +(-?[\d.]+) \(VIOLATED\)}}
  foreach {{- pin slack}} [regexp -all -inline -- $line [checks -format end {{*}}$args]] {{lappend found $pin $slack}}
  return $found
}}
proc gates {{pin}} {{
  set found {{}}
  set line {{(?n)[v^] (\S+)/\w+ \((\w+)\)$}}
  foreach {{- gate cell}} [regexp -all -inline -- $line [checks -format full -to $pin]] {{
    if {{![string match *_DFF_P_ $gate] || [string match part.* $gate]}} {{dict set found $gate $cell}}
  }}
  return $found
}}
proc help {{pin slack}} {{
  global other late taken
  set helpful {{}}
  dict for {{gate cell}} [gates $pin] {{
    if {{![info exists other($cell)]}} continue
    foreach size $other($cell) {{
      replace_cell $gate $size
      set end [ends -to $pin]
      set now [expr {{[llength $end] ? [lindex $end 1] : 0}}]
      if {{$now > $slack}} {{lappend helpful [list $now $gate $cell $size]}}
      replace_cell $gate $cell
    }}
  }}
  foreach choice [lsort -real -decreasing -index 0 $helpful] {{
    lassign $choice - gate cell size
    replace_cell $gate $size
    set sum [total_negative_slack]
    if {{$sum > $late + 0.01}} {{
      set late $sum
      set taken($gate) $size
      return 1
    }}
    replace_cell $gate $cell
  }}
  return 0
}}
array set taken {{}}
set late [total_negative_slack]
set helped 1
while {{$helped && $late < 0}} {{
  set helped 0
  set alone {{}}
  while {{$late < 0 && [array size taken] < {most} && [llength $alone] < {patience}}} {{
    set worst {{}}
    foreach {{pin slack}} [ends -group_count [expr {{[llength $alone] + 1}}] -endpoint_count 1] {{
      if {{$pin ni $alone}} {{set worst [list $pin $slack]; break}}
    }}
    if {{![llength $worst]}} break
    if {{[help {{*}}$worst]}} {{set helped 1}} else {{lappend alone [lindex $worst 0]}}
  }}
}}
set file [open {file} w]
foreach gate [lsort [array names taken]] {{puts $file "$gate $taken($gate)"}}
close $file
"""


def sizes_script(library: Library) -> str:
    """What OpenSTA does between its first look at the endpoints and its last, and writes down for ``resized``."""
    lines = [f"set other({cell}) {{{' '.join(others)}}}" for cell, others in sorted(library.sizes().items())]
    return _SCRIPT.format(sizes="\n".join(lines), most=MOST, patience=PATIENCE, file=_TAKEN)


def resized(folder: Path) -> dict[str, str]:
    """The cells that took the place of others, by instance."""
    lines = Path(folder, _TAKEN).read_text().splitlines()
    return {gate.replace("\\", ""): cell for gate, cell in (line.split() for line in lines)}

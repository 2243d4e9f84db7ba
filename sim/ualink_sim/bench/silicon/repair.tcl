# Repairs what is late, by the times of OpenSTA. It is given:
#   other(CELL)  the other sizes of a cell, the smallest first
#   buffers      buffers to put in, as {cell input output}
#   patient      so many ps more than the path, and a load can wait for a buffer
#   margin       an endpoint with less slack than so many ps counts as late
#   most         so many repairs at most
#   hopeless     so many endpoints beyond help, and the rest is left as it is
#   done         the file that is told what was done
#
# A repair is a list of a kind and what it needs:
#   size GATE OLD NEW                         a gate in another size
#   before LOAD NET TO INPUT                  a load passes by the buffer that drives its net, to the net before it; the
#                                             buffer, whose INPUT is there, goes when that was its last load
#   behind LOADS NET BUFFER                   loads that can wait go behind a buffer of their own

# Of each gate that was asked for or changed, its cell.
array set now_of {}
# What was done: gates in another size; buffers made (1) or gone (nothing); inputs moved. The last buffer made has this
# number.
array set sized {}
array set buffer_of {}
array set moved {}
set made 0

proc split_name {pin} {
  set name [get_full_name $pin]
  set slash [string last / $name]
  return [list [string range $name 0 $slash-1] [string range $name $slash+1 end]]
}

proc cell_of {gate} {
  global now_of
  if {![info exists now_of($gate)]} {
    set pattern [string map {\\ \\\\ \[ \\\[ \] \\\] * \\* ? \\?} $gate]
    set now_of($gate) [get_property [get_cells $pattern] ref_name]
  }
  return $now_of($gate)
}

proc loads_of {net} {
  set found {}
  foreach pin [get_pins -of_objects $net] {
    if {[get_property $pin direction] eq "input"} {lappend found $pin}
  }
  return $found
}

proc slack_at {pin} {
  return [expr {min([get_property $pin max_rise_slack], [get_property $pin max_fall_slack])}]
}

proc path_to {end} {
  return [lindex [find_timing_paths -path_delay max -to $end] 0]
}

proc slack_of {end} {
  set path [path_to $end]
  return [expr {$path eq {} ? 0 : [get_property $path slack]}]
}

# Of each gate of the worst path to an endpoint: the load before it, its output and the load behind it.
proc stages {end} {
  set found {}
  set before {}
  set output {}
  foreach point [get_property [path_to $end] points] {
    set pin [get_property $point pin]
    if {[get_property $pin direction] eq "output"} {
      set output $pin
    } else {
      if {$output ne {}} {lappend found [list $before $output $pin]}
      set before $pin
      set output {}
    }
  }
  return $found
}

# Registers that stand for the neighbour at a port stay as they are.
proc is_edge {gate} {
  return [expr {[string match *_DFF_P_ $gate] && ![string match part.* $gate]}]
}

proc is_buffer {cell} {
  global buffers
  return [expr {[lsearch -exact -index 0 $buffers $cell] >= 0}]
}

# OpenSTA does not time a driver anew that loses a load and gains none: one of those that stay is given to it again.
proc move_load {load from to} {
  disconnect_pin $from $load
  connect_pin $to $load
  foreach stays [lrange [loads_of $from] 0 0] {
    disconnect_pin $from $stays
    connect_pin $from $stays
  }
}

proc resize {gate cell} {
  global now_of
  replace_cell $gate $cell
  set now_of($gate) $cell
}

proc go_before {load net to input} {
  move_load $load $net $to
  if {![llength [loads_of $net]]} {
    disconnect_pin $to $input
    foreach stays [lrange [loads_of $to] 0 0] {
      disconnect_pin $to $stays
      connect_pin $to $stays
    }
  }
}

proc come_back {load net to input} {
  if {![llength [loads_of $net]]} {connect_pin $to $input}
  move_load $load $to $net
}

proc go_behind {loads net buffer} {
  global made now_of
  incr made
  lassign $buffer cell input output
  make_instance repair_$made $cell
  make_net repair_net_$made
  foreach load $loads {
    disconnect_pin $net $load
    connect_pin repair_net_$made $load
  }
  connect_pin $net repair_$made/$input
  connect_pin repair_net_$made repair_$made/$output
  set now_of(repair_$made) $cell
}

proc come_out {loads net buffer} {
  global made now_of
  lassign $buffer cell input output
  foreach load $loads {
    disconnect_pin repair_net_$made $load
    connect_pin $net $load
  }
  disconnect_pin $net repair_$made/$input
  disconnect_pin repair_net_$made repair_$made/$output
  delete_instance repair_$made
  delete_net repair_net_$made
  unset now_of(repair_$made)
  incr made -1
}

proc do {repair} {
  lassign $repair kind a b c d
  switch $kind {
    size {resize $a $c}
    before {go_before $a $b $c $d}
    behind {go_behind $a $b $c}
  }
}

proc undo {repair} {
  lassign $repair kind a b c d
  switch $kind {
    size {resize $a $b}
    before {come_back $a $b $c $d}
    behind {come_out $a $b $c}
  }
}

# All repairs that might help the worst path to an endpoint.
proc repairs_of {end} {
  global other buffers patient
  set found {}
  set passed {}
  foreach stage [stages $end] {
    lassign $stage before output load
    set gate [lindex [split_name $output] 0]
    set net [get_nets -of_objects $output]
    if {![is_edge $gate]} {
      set cell [cell_of $gate]
      if {[info exists other($cell)]} {
        foreach size $other($cell) {lappend found [list size $gate $cell $size]}
      }
      if {$passed ne {} && [is_buffer $cell]} {lappend found [list before $load $net $passed $before]}
      set enough [expr {[slack_at $load] + $patient}]
      set waiting {}
      foreach other_load [loads_of $net] {
        if {$other_load ne $load && [slack_at $other_load] > $enough} {lappend waiting $other_load}
      }
      if {[llength $waiting]} {
        foreach buffer [lrange $buffers 0 2] {lappend found [list behind $waiting $net $buffer]}
      }
    }
    set passed $net
  }
  return $found
}

proc note {repair} {
  global sized buffer_of moved made
  lassign $repair kind a b c d
  switch $kind {
    size {set sized($a) $c}
    before {
      set moved([get_full_name $a]) 1
      if {![llength [loads_of $b]]} {set buffer_of([lindex [split_name $d] 0]) {}}
    }
    behind {
      set buffer_of(repair_$made) 1
      foreach load $a {set moved([get_full_name $load]) 1}
    }
  }
}

# What tells a repair from others of the same netlist.
proc key_of {repair} {
  lassign $repair kind a b c
  return [expr {$kind eq "behind" ? [list $kind $b $c] : [list $kind $a $b $c]}]
}

# The gate that a repair changes, or the nets.
proc changed_by {repair} {
  lassign $repair kind a b c
  switch $kind {
    size {return [list $a]}
    before {return [list $b $c]}
    behind {return [list $b]}
  }
}

# Tries all repairs for an endpoint. Those after which all that are late together are less late are done, one after the
# other, the best first, until the endpoint is in time; each has to help then, too, and none changes what another has.
# Says how many were done. What was in vain for one endpoint is not tried for the next: most of a path is that of others.
proc help {end slack} {
  global late vain
  set helpful {}
  foreach repair [repairs_of $end] {
    set key [key_of $repair]
    if {[info exists vain($key)]} continue
    do $repair
    set sum [expr {[slack_of $end] > $slack + 0.001 ? [total_negative_slack] : $late}]
    undo $repair
    if {$sum > $late + 0.01} {lappend helpful [list $sum $repair]} else {set vain($key) 1}
  }
  set count 0
  array set changed {}
  foreach choice [lsort -real -decreasing -index 0 $helpful] {
    set repair [lindex $choice 1]
    set parts [changed_by $repair]
    set fresh 1
    foreach part $parts {
      if {[info exists changed($part)]} {set fresh 0}
    }
    if {!$fresh} continue
    do $repair
    set sum [total_negative_slack]
    if {$sum <= $late + 0.01} {
      undo $repair
      continue
    }
    set late $sum
    note $repair
    foreach part $parts {set changed($part) 1}
    incr count
    if {[slack_of $end] >= 0} break
  }
  return $count
}

# The worst endpoint that is not left alone, and its slack; nothing, if none is late.
proc worst_but {alone} {
  foreach path [find_timing_paths -path_delay max -group_count [expr {[llength $alone] + 1}] -endpoint_count 1] {
    set slack [get_property $path slack]
    if {$slack >= 0} break
    set end [get_property [lindex [get_property $path points] end] pin]
    if {[get_full_name $end] ni $alone} {return [list $end $slack]}
  }
  return {}
}

# An endpoint that nothing helps is left alone until another has been helped, and then all are tried again.
proc repair {} {
  global late most hopeless vain
  set late [total_negative_slack]
  set repairs 0
  set helped 1
  while {$helped && $late < 0} {
    set helped 0
    set alone {}
    array unset vain
    while {$late < 0 && $repairs < $most && [llength $alone] < $hopeless} {
      set worst [worst_but $alone]
      if {![llength $worst]} break
      set count [help {*}$worst]
      if {$count} {
        set helped 1
        incr repairs $count
      } else {
        lappend alone [get_full_name [lindex $worst 0]]
      }
    }
  }
}

proc write_repairs {name} {
  global sized buffer_of moved now_of
  set file [open $name w]
  foreach gate [lsort [array names sized]] {
    if {![info exists buffer_of($gate)]} {puts $file "size $gate $sized($gate)"}
  }
  foreach gate [lsort [array names buffer_of]] {
    if {$buffer_of($gate) eq {}} {puts $file "gone $gate"} else {puts $file "new $gate $now_of($gate)"}
  }
  foreach load [lsort [array names moved]] {puts $file "load $load"}
  close $file
}

# With a margin, because where nothing helps any more a little is left late.
if {[total_negative_slack] < 0} {
  set_clock_uncertainty $margin [all_clocks]
  repair
  unset_clock_uncertainty [all_clocks]
}
write_repairs $done

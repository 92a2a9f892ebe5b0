#!/usr/bin/env sysbench
-- Four reads by key to one update by key, each in a transaction of its own; an event is one statement. sysbench has no
-- such mix; table, statements and helpers are those of its OLTP scripts.
require("oltp_common")

function prepare_statements()
   sysbench.opt.point_selects = 1
   sysbench.opt.non_index_updates = 1
   prepare_point_selects()
   prepare_non_index_updates()
end

function event()
   if sysbench.rand.uniform(1, 5) == 1 then
      execute_non_index_updates()
   else
      execute_point_selects()
   end
end

#!/usr/bin/env sysbench
-- sysbench's oltp_insert, by a prepared statement: its own sends text whatever --db-ps-mode says.
require("oltp_common")

local insert, k, c, pad

function prepare_statements()
   local kind = sysbench.sql.type
   insert = con:prepare("INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, ?, ?, ?)")
   k, c, pad = insert:bind_create(kind.INT), insert:bind_create(kind.CHAR, 120), insert:bind_create(kind.CHAR, 60)
   insert:bind_param(k, c, pad)
end

function event()
   k:set(sysbench.rand.default(1, sysbench.opt.table_size))
   c:set(get_c_value())
   pad:set(get_pad_value())
   insert:execute()
end

function thread_done()
   insert:close()
   con:disconnect()
end

"""What each dialect is sent, by case of ``test_golden_sql``; layout is free, words are not."""

SQL = {
    "sqlite": """
-- save
UPDATE "order"
    SET title=?, n=?, record_version=("order".record_version + ?)
    WHERE "order".id = ? AND "order".record_version = ? AND "order".run_seq = ?;
-- save of nothing
UPDATE "order"
    SET record_version=("order".record_version + ?)
    WHERE "order".id = ? AND "order".record_version = ? AND "order".run_seq = ?;
-- save, generation not loaded
UPDATE "order"
    SET n=?, record_version=("order".record_version + ?)
    WHERE "order".id = ? AND "order".record_version = ?
    RETURNING run_seq;
-- save, expecting a state
UPDATE "order"
    SET n=?, record_version=("order".record_version + ?)
    WHERE "order".id = ? AND "order".record_version = ? AND "order".run_seq = ?
        AND ("order".state IN (?) OR "order".state IS NULL) AND "order".note IS NULL;
-- save, with a condition
UPDATE "order"
    SET title=?, record_version=("order".record_version + ?)
    WHERE "order".id = ? AND "order".record_version = ? AND "order".run_seq = ? AND "order".n < ?;
-- save, with a write token
UPDATE ticket
    SET n=?, write_token=?, record_version=(ticket.record_version + ?)
    WHERE ticket.id = ? AND ticket.record_version = ? AND ticket.run_seq = ?;
-- update, expression
UPDATE "order"
    SET n=("order".n + ?), record_version=("order".record_version + ?)
    WHERE "order".id = ? AND "order".run_seq = ?
    RETURNING n, record_version;
-- update, unversioned
UPDATE device
    SET hits=?
    WHERE device.id = ? AND device.run_seq = ?
    RETURNING record_version;
-- new generation
UPDATE "order"
    SET state=?, record_version=("order".record_version + ?), run_seq=("order".run_seq + ?)
    WHERE "order".id = ? AND "order".run_seq = ?
    RETURNING record_version;
-- composite key
UPDATE seat
    SET holder=?, record_version=(seat.record_version + ?)
    WHERE seat."row" = ? AND seat.number = ? AND seat.record_version = ? AND seat.run_seq = ?;
-- delete
DELETE FROM "order"
    WHERE "order".id = ? AND "order".record_version = ?;
-- joined inheritance
UPDATE item
    SET name=?, record_version=(item.record_version + ?)
    WHERE item.id = ? AND item.kind IN (… kind …) AND item.record_version = ? AND item.run_seq = ?;
UPDATE book
    SET pages=?
    WHERE book.id = ?;
-- joined inheritance, the child's table only
UPDATE item
    SET record_version=(item.record_version + ?)
    WHERE item.id = ? AND item.kind IN (… kind …) AND item.record_version = ? AND item.run_seq = ?;
UPDATE book
    SET pages=?
    WHERE book.id = ?;
""",
    "postgresql": """
-- save
UPDATE "order"
    SET title=%(cas_set_title)s::VARCHAR, n=%(cas_set_n)s::INTEGER,
        record_version=("order".record_version + %(record_version_1)s::BIGINT)
    WHERE "order".id = %(cas_key_0)s::INTEGER
        AND "order".record_version = %(cas_believed_version)s::BIGINT
        AND "order".run_seq = %(cas_believed_generation)s::BIGINT
    RETURNING "order".record_version;
-- save of nothing
UPDATE "order"
    SET record_version=("order".record_version + %(record_version_1)s::BIGINT)
    WHERE "order".id = %(cas_key_0)s::INTEGER
        AND "order".record_version = %(cas_believed_version)s::BIGINT
        AND "order".run_seq = %(cas_believed_generation)s::BIGINT
    RETURNING "order".record_version;
-- save, generation not loaded
UPDATE "order"
    SET n=%(cas_set_n)s::INTEGER, record_version=("order".record_version + %(record_version_1)s::BIGINT)
    WHERE "order".id = %(cas_key_0)s::INTEGER
        AND "order".record_version = %(cas_believed_version)s::BIGINT
    RETURNING "order".record_version, "order".run_seq;
-- save, expecting a state
UPDATE "order"
    SET n=%(cas_set_n)s::INTEGER, record_version=("order".record_version + %(record_version_1)s::BIGINT)
    WHERE "order".id = %(cas_key_0)s::INTEGER
        AND "order".record_version = %(cas_believed_version)s::BIGINT
        AND "order".run_seq = %(cas_believed_generation)s::BIGINT
        AND ("order".state IN (%(cas_believed_0)s::VARCHAR) OR "order".state IS NULL)
        AND "order".note IS NULL
    RETURNING "order".record_version;
-- save, with a condition
UPDATE "order"
    SET title=%(cas_set_title)s::VARCHAR,
        record_version=("order".record_version + %(record_version_1)s::BIGINT)
    WHERE "order".id = %(cas_key_0)s::INTEGER
        AND "order".record_version = %(cas_believed_version)s::BIGINT
        AND "order".run_seq = %(cas_believed_generation)s::BIGINT AND "order".n < %(n_1)s::INTEGER
    RETURNING "order".record_version;
-- save, with a write token
UPDATE ticket
    SET n=%(cas_set_n)s::INTEGER, write_token=%(cas_set_write_token)s,
        record_version=(ticket.record_version + %(record_version_1)s::BIGINT)
    WHERE ticket.id = %(cas_key_0)s::INTEGER
        AND ticket.record_version = %(cas_believed_version)s::BIGINT
        AND ticket.run_seq = %(cas_believed_generation)s::BIGINT
    RETURNING ticket.record_version;
-- update, expression
UPDATE "order"
    SET n=("order".n + %(n_1)s::INTEGER),
        record_version=("order".record_version + %(record_version_1)s::BIGINT)
    WHERE "order".id = %(cas_key_0)s::INTEGER AND "order".run_seq = %(cas_believed_generation)s::BIGINT
    RETURNING "order".n, "order".record_version;
-- update, unversioned
UPDATE device
    SET hits=%(cas_set_hits)s::INTEGER
    WHERE device.id = %(cas_key_0)s::INTEGER AND device.run_seq = %(cas_believed_generation)s::BIGINT
    RETURNING device.record_version;
-- new generation
UPDATE "order"
    SET state=%(cas_set_state)s::VARCHAR,
        record_version=("order".record_version + %(record_version_1)s::BIGINT),
        run_seq=("order".run_seq + %(run_seq_1)s::BIGINT)
    WHERE "order".id = %(cas_key_0)s::INTEGER AND "order".run_seq = %(cas_believed_generation)s::BIGINT
    RETURNING "order".record_version;
-- composite key
UPDATE seat
    SET holder=%(cas_set_holder)s::VARCHAR,
        record_version=(seat.record_version + %(record_version_1)s::BIGINT)
    WHERE seat.row = %(cas_key_0)s::VARCHAR AND seat.number = %(cas_key_1)s::INTEGER
        AND seat.record_version = %(cas_believed_version)s::BIGINT
        AND seat.run_seq = %(cas_believed_generation)s::BIGINT
    RETURNING seat.record_version;
-- delete
DELETE FROM "order"
    WHERE "order".id = %(cas_key_0)s::INTEGER
        AND "order".record_version = %(cas_believed_version)s::BIGINT;
-- joined inheritance
UPDATE item
    SET name=%(cas_set_name)s::VARCHAR,
        record_version=(item.record_version + %(record_version_1)s::BIGINT)
    WHERE item.id = %(cas_key_0)s::INTEGER AND item.kind IN (… kind …)
        AND item.record_version = %(cas_believed_version)s::BIGINT
        AND item.run_seq = %(cas_believed_generation)s::BIGINT
    RETURNING item.record_version;
UPDATE book
    SET pages=%(cas_set_pages)s::INTEGER
    WHERE book.id = %(cas_key_0)s::INTEGER;
-- joined inheritance, the child's table only
UPDATE item
    SET record_version=(item.record_version + %(record_version_1)s::BIGINT)
    WHERE item.id = %(cas_key_0)s::INTEGER AND item.kind IN (… kind …)
        AND item.record_version = %(cas_believed_version)s::BIGINT
        AND item.run_seq = %(cas_believed_generation)s::BIGINT
    RETURNING item.record_version;
UPDATE book
    SET pages=%(cas_set_pages)s::INTEGER
    WHERE book.id = %(cas_key_0)s::INTEGER;
""",
    "mysql": """
-- save
UPDATE `order`
    SET title=%s, n=%s, record_version=last_insert_id(`order`.record_version + %s)
    WHERE `order`.id = %s AND `order`.record_version = %s AND `order`.run_seq = %s;
-- save of nothing
UPDATE `order`
    SET record_version=last_insert_id(`order`.record_version + %s)
    WHERE `order`.id = %s AND `order`.record_version = %s AND `order`.run_seq = %s;
-- save, generation not loaded
UPDATE `order`
    SET n=%s, record_version=last_insert_id(`order`.record_version + %s)
    WHERE `order`.id = %s AND `order`.record_version = %s;
-- save, expecting a state
UPDATE `order`
    SET n=%s, record_version=last_insert_id(`order`.record_version + %s)
    WHERE `order`.id = %s AND `order`.record_version = %s AND `order`.run_seq = %s
        AND (`order`.state IN (%s) OR `order`.state IS NULL) AND `order`.note IS NULL;
-- save, with a condition
UPDATE `order`
    SET title=%s, record_version=last_insert_id(`order`.record_version + %s)
    WHERE `order`.id = %s AND `order`.record_version = %s AND `order`.run_seq = %s AND `order`.n < %s;
-- save, with a write token
UPDATE ticket
    SET n=%s, write_token=%s, record_version=last_insert_id(ticket.record_version + %s)
    WHERE ticket.id = %s AND ticket.record_version = %s AND ticket.run_seq = %s;
-- update, expression
UPDATE `order`
    SET n=(`order`.n + %s), record_version=last_insert_id(`order`.record_version + %s)
    WHERE `order`.id = %s AND `order`.run_seq = %s;
-- update, unversioned
UPDATE device
    SET hits=%s, record_version=last_insert_id(device.record_version)
    WHERE device.id = %s AND device.run_seq = %s;
-- new generation
UPDATE `order`
    SET state=%s, record_version=last_insert_id(`order`.record_version + %s),
        run_seq=(`order`.run_seq + %s)
    WHERE `order`.id = %s AND `order`.run_seq = %s;
-- composite key
UPDATE seat
    SET holder=%s, record_version=last_insert_id(seat.record_version + %s)
    WHERE seat.`row` = %s AND seat.number = %s AND seat.record_version = %s AND seat.run_seq = %s;
-- delete
DELETE FROM `order`
    WHERE `order`.id = %s AND `order`.record_version = %s;
-- joined inheritance
UPDATE item
    SET name=%s, record_version=last_insert_id(item.record_version + %s)
    WHERE item.id = %s AND item.kind IN (… kind …) AND item.record_version = %s AND item.run_seq = %s;
UPDATE book
    SET pages=%s
    WHERE book.id = %s;
-- joined inheritance, the child's table only
UPDATE item
    SET record_version=last_insert_id(item.record_version + %s)
    WHERE item.id = %s AND item.kind IN (… kind …) AND item.record_version = %s AND item.run_seq = %s;
UPDATE book
    SET pages=%s
    WHERE book.id = %s;
""",
    "oracle": """
-- save
UPDATE "order"
    SET title=:cas_set_title, n=:cas_set_n, record_version=("order".record_version + :record_version_1)
    WHERE "order".id = :cas_key_0 AND "order".record_version = :cas_believed_version
        AND "order".run_seq = :cas_believed_generation;
-- save of nothing
UPDATE "order"
    SET record_version=("order".record_version + :record_version_1)
    WHERE "order".id = :cas_key_0 AND "order".record_version = :cas_believed_version
        AND "order".run_seq = :cas_believed_generation;
-- save, generation not loaded
UPDATE "order"
    SET n=:cas_set_n, record_version=("order".record_version + :record_version_1)
    WHERE "order".id = :cas_key_0 AND "order".record_version = :cas_believed_version
    RETURNING "order".run_seq INTO :ret_0;
-- save, expecting a state
UPDATE "order"
    SET n=:cas_set_n, record_version=("order".record_version + :record_version_1)
    WHERE "order".id = :cas_key_0 AND "order".record_version = :cas_believed_version
        AND "order".run_seq = :cas_believed_generation
        AND ("order".state IN (:cas_believed_0) OR "order".state IS NULL) AND "order".note IS NULL;
-- save, with a condition
UPDATE "order"
    SET title=:cas_set_title, record_version=("order".record_version + :record_version_1)
    WHERE "order".id = :cas_key_0 AND "order".record_version = :cas_believed_version
        AND "order".run_seq = :cas_believed_generation AND "order".n < :n_1;
-- save, with a write token
UPDATE ticket
    SET n=:cas_set_n, write_token=:cas_set_write_token,
        record_version=(ticket.record_version + :record_version_1)
    WHERE ticket.id = :cas_key_0 AND ticket.record_version = :cas_believed_version
        AND ticket.run_seq = :cas_believed_generation;
-- update, expression
UPDATE "order"
    SET n=("order".n + :n_1), record_version=("order".record_version + :record_version_1)
    WHERE "order".id = :cas_key_0 AND "order".run_seq = :cas_believed_generation
    RETURNING "order".n, "order".record_version INTO :ret_0, :ret_1;
-- update, unversioned
UPDATE device
    SET hits=:cas_set_hits
    WHERE device.id = :cas_key_0 AND device.run_seq = :cas_believed_generation
    RETURNING device.record_version INTO :ret_0;
-- new generation
UPDATE "order"
    SET state=:cas_set_state, record_version=("order".record_version + :record_version_1),
        run_seq=("order".run_seq + :run_seq_1)
    WHERE "order".id = :cas_key_0 AND "order".run_seq = :cas_believed_generation
    RETURNING "order".record_version INTO :ret_0;
-- composite key
UPDATE seat
    SET holder=:cas_set_holder, record_version=(seat.record_version + :record_version_1)
    WHERE seat.row = :cas_key_0 AND seat."number" = :cas_key_1
        AND seat.record_version = :cas_believed_version AND seat.run_seq = :cas_believed_generation;
-- delete
DELETE FROM "order"
    WHERE "order".id = :cas_key_0 AND "order".record_version = :cas_believed_version;
-- joined inheritance
UPDATE item
    SET name=:cas_set_name, record_version=(item.record_version + :record_version_1)
    WHERE item.id = :cas_key_0 AND item.kind IN (… kind …)
        AND item.record_version = :cas_believed_version AND item.run_seq = :cas_believed_generation;
UPDATE book
    SET pages=:cas_set_pages
    WHERE book.id = :cas_key_0;
-- joined inheritance, the child's table only
UPDATE item
    SET record_version=(item.record_version + :record_version_1)
    WHERE item.id = :cas_key_0 AND item.kind IN (… kind …)
        AND item.record_version = :cas_believed_version AND item.run_seq = :cas_believed_generation;
UPDATE book
    SET pages=:cas_set_pages
    WHERE book.id = :cas_key_0;
""",
    "mssql": """
-- save
UPDATE [order]
    SET title=:cas_set_title, n=:cas_set_n, record_version=([order].record_version + :record_version_1)
    WHERE [order].id = :cas_key_0 AND [order].record_version = :cas_believed_version
        AND [order].run_seq = :cas_believed_generation;
-- save of nothing
UPDATE [order]
    SET record_version=([order].record_version + :record_version_1)
    WHERE [order].id = :cas_key_0 AND [order].record_version = :cas_believed_version
        AND [order].run_seq = :cas_believed_generation;
-- save, generation not loaded
UPDATE [order]
    SET n=:cas_set_n, record_version=([order].record_version + :record_version_1)
    OUTPUT inserted.run_seq
    WHERE [order].id = :cas_key_0 AND [order].record_version = :cas_believed_version;
-- save, expecting a state
UPDATE [order]
    SET n=:cas_set_n, record_version=([order].record_version + :record_version_1)
    WHERE [order].id = :cas_key_0 AND [order].record_version = :cas_believed_version
        AND [order].run_seq = :cas_believed_generation
        AND ([order].state IN (:cas_believed_0) OR [order].state IS NULL) AND [order].note IS NULL;
-- save, with a condition
UPDATE [order]
    SET title=:cas_set_title, record_version=([order].record_version + :record_version_1)
    WHERE [order].id = :cas_key_0 AND [order].record_version = :cas_believed_version
        AND [order].run_seq = :cas_believed_generation AND [order].n < :n_1;
-- save, with a write token
UPDATE ticket
    SET n=:cas_set_n, write_token=:cas_set_write_token,
        record_version=(ticket.record_version + :record_version_1)
    WHERE ticket.id = :cas_key_0 AND ticket.record_version = :cas_believed_version
        AND ticket.run_seq = :cas_believed_generation;
-- update, expression
UPDATE [order]
    SET n=([order].n + :n_1), record_version=([order].record_version + :record_version_1)
    OUTPUT inserted.n, inserted.record_version
    WHERE [order].id = :cas_key_0 AND [order].run_seq = :cas_believed_generation;
-- update, unversioned
UPDATE device
    SET hits=:cas_set_hits
    OUTPUT inserted.record_version
    WHERE device.id = :cas_key_0 AND device.run_seq = :cas_believed_generation;
-- new generation
UPDATE [order]
    SET state=:cas_set_state, record_version=([order].record_version + :record_version_1),
        run_seq=([order].run_seq + :run_seq_1)
    OUTPUT inserted.record_version
    WHERE [order].id = :cas_key_0 AND [order].run_seq = :cas_believed_generation;
-- composite key
UPDATE seat
    SET holder=:cas_set_holder, record_version=(seat.record_version + :record_version_1)
    WHERE seat.row = :cas_key_0 AND seat.number = :cas_key_1
        AND seat.record_version = :cas_believed_version AND seat.run_seq = :cas_believed_generation;
-- delete
DELETE FROM [order]
    WHERE [order].id = :cas_key_0 AND [order].record_version = :cas_believed_version;
-- joined inheritance
UPDATE item
    SET name=:cas_set_name, record_version=(item.record_version + :record_version_1)
    WHERE item.id = :cas_key_0 AND item.kind IN (… kind …)
        AND item.record_version = :cas_believed_version AND item.run_seq = :cas_believed_generation;
UPDATE book
    SET pages=:cas_set_pages
    WHERE book.id = :cas_key_0;
-- joined inheritance, the child's table only
UPDATE item
    SET record_version=(item.record_version + :record_version_1)
    WHERE item.id = :cas_key_0 AND item.kind IN (… kind …)
        AND item.record_version = :cas_believed_version AND item.run_seq = :cas_believed_generation;
UPDATE book
    SET pages=:cas_set_pages
    WHERE book.id = :cas_key_0;
""",
}

"""Two processes race for one row, with and without compare-and-swap: ``python -m examples.demo``.

__main__        the whole run, top to bottom: exit 0, 1, 2 or 3
story           who plays, what they write, what they are told; `Side`, the seam between the ORMs
columns         the columns of the table: which side of which ORM stands in them
on_django       the two sides as a Django team writes them
on_sqlalchemy   the two sides as a SQLAlchemy team writes them
database        the embedded SQLite file, or DATABASE_URL
own_table       a table for one race: nobody else's meanwhile, gone afterwards
race            the referee: sends a job to both processes, reads the row afterwards
crew, writer    the processes, and what happens in each
tally           what the rounds add up to, and the exit code
report          the table; layout: SQL in a narrow column
progress        one line that moves
"""

import type { Knex } from 'knex'

/** What one server at a time does for all. Holders are ids of processes. */
export class Leases {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** Whether the holder may take the lease at this moment: it is his, or nobody's any more. */
  async isFree(name: string, holder: string, at: Date, seconds: number): Promise<boolean> {
    const row: Row | undefined = await this.db('leases').where({ name }).first()
    if (!row || row.holder === holder) return true
    return row.held_until <= at.getTime() || row.held_until > tooLate(at, seconds)
  }

  /** Takes a free lease, or renews his own, for so many seconds; false where another was quicker. */
  async take(name: string, holder: string, at: Date, seconds: number): Promise<boolean> {
    await this.db('leases')
      .insert({ name, holder, held_until: at.getTime() + seconds * 1000 })
      .onConflict('name')
      .merge()
      .where((free) =>
        free
          .where('leases.holder', holder)
          .orWhere('leases.held_until', '<=', at.getTime())
          .orWhere('leases.held_until', '>', tooLate(at, seconds)),
      )
    const row: Row | undefined = await this.db('leases').where({ name, holder }).first()
    return row !== undefined
  }

  async release(name: string, holder: string): Promise<void> {
    await this.db('leases').where({ name, holder }).delete()
  }
}

interface Row {
  holder: string
  held_until: number
}

/** A lease that ends later than any clock of the fleet could have set it dates from before the clocks went back. */
function tooLate(at: Date, seconds: number): number {
  return at.getTime() + 2 * seconds * 1000
}

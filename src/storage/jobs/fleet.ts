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

  /** Gives a lease up, if the holder still has it. */
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

/** A server that answers requests, as it last told the others. */
export interface Instance {
  id: string
  /** Differs with every write. */
  heartbeat: number
  /** How many requests it has let through, by key of the rate limit; only keys of late. */
  usage: Record<string, number>
}

/** What servers that share rate limits tell each other: each writes a row of its own and reads all. */
export class Instances {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** Notes that a server lives, and what it let through. */
  async write({ id, heartbeat, usage }: Instance): Promise<void> {
    await this.db('instances')
      .insert({ id, heartbeat, usage: JSON.stringify(usage) })
      .onConflict('id')
      .merge()
  }

  /** The servers but one. */
  async listOthers(id: string): Promise<Instance[]> {
    const rows: { id: string; heartbeat: number; usage: string }[] = await this.db('instances').whereNot({ id })
    return rows.map((row) => ({ ...row, usage: JSON.parse(row.usage) }))
  }

  /** Forgets servers. */
  async delete(ids: string[]): Promise<void> {
    await this.db('instances').whereIn('id', ids).delete()
  }
}

/** Facts about the installation as a whole, by name. */
export class Settings {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** The value of a setting; undefined where there is none. */
  async find(name: string): Promise<string | undefined> {
    return (await this.db('settings').where({ name }).first('value'))?.value
  }

  /** Stores the value if there is none yet, and returns the one that stands. */
  async insert(name: string, value: string): Promise<string> {
    await this.db('settings').insert({ name, value }).onConflict('name').ignore()
    return (await this.find(name)) ?? value
  }

  /** Removes a setting, if there is one. */
  async delete(name: string): Promise<void> {
    await this.db('settings').where({ name }).delete()
  }

  /** Changes a setting that is there; one that is not stays away. */
  async update(name: string, value: string): Promise<void> {
    await this.db('settings').where({ name }).update({ value })
  }
}

import { field, listRecords, mapping, type RecordOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

/** Leases for work that only one process of a fleet does at a time. A holder is the ID of a process. */
export class Leases extends Repository {
  /** Whether the holder can take the lease: it holds the lease already, or the lease has ended. */
  async isFree(name: string, holder: string, at: Date, seconds: number): Promise<boolean> {
    const row: Row | undefined = await this.db('leases').where({ name }).first()
    if (!row || row.holder === holder) return true
    return row.held_until <= at.getTime() || row.held_until > tooLate(at, seconds)
  }

  /** Takes a free lease, or renews a lease that the holder has. Returns false if another holder has the lease. */
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

  /** Releases a lease if the holder still has it. */
  async release(name: string, holder: string): Promise<void> {
    await this.db('leases').where({ name, holder }).delete()
  }
}

interface Row {
  holder: string
  held_until: number
}

/**
 * Returns the latest valid end of a lease. A lease with a later end is void, because a clock was set back after the
 * lease was taken.
 */
function tooLate(at: Date, seconds: number): number {
  return at.getTime() + 2 * seconds * 1000
}

const INSTANCE = mapping({
  id: field.text,
  /** A counter that increases with each write, so that other servers notice if this server stopped. */
  heartbeat: field.number,
  /** The number of accepted requests by rate-limit key. Contains only recent keys. */
  usage: field.json<Record<string, number>>(),
})

export interface Instance extends RecordOf<typeof INSTANCE> {}

/** The state that servers with shared rate limits exchange: each writes its own row and reads the others. */
export class Instances extends Repository {
  async write(instance: Instance): Promise<void> {
    await this.db('instances').insert(INSTANCE.write(instance)).onConflict('id').merge()
  }

  async listOthers(id: string): Promise<Instance[]> {
    return listRecords(this.db('instances').whereNot({ id }), INSTANCE.read)
  }

  async delete(ids: string[]): Promise<void> {
    await this.db('instances').whereIn('id', ids).delete()
  }
}

/** Settings of the whole installation, by name. */
export class Settings extends Repository {
  async find(name: string): Promise<string | undefined> {
    return (await this.db('settings').where({ name }).first('value'))?.value
  }

  /** Stores the value of a setting that is not set yet. Returns the stored value. */
  async insert(name: string, value: string): Promise<string> {
    await this.db('settings').insert({ name, value }).onConflict('name').ignore()
    return (await this.find(name)) ?? value
  }

  async delete(name: string): Promise<void> {
    await this.db('settings').where({ name }).delete()
  }

  async update(name: string, value: string): Promise<void> {
    await this.db('settings').where({ name }).update({ value })
  }
}

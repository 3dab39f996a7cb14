import { FairGate } from '../../storage/db/fair-gate.ts'

/** Runs one piece of work at a time; those who wait take turns, however much one of them brought. */
export interface FairQueue {
  /**
   * Resolves or rejects as the work does.
   * @throws QueueFull at once, where the owner, or all together, wait with as much as they may
   */
  run<T>(owner: string, work: () => Promise<T>): Promise<T>
}

export class QueueFull extends Error {
  override readonly name = 'QueueFull'
  /** Whether the owner alone brought too much; else all together did. */
  readonly isOwners: boolean

  constructor(isOwners: boolean) {
    super('The queue is full')
    this.isOwners = isOwners
  }
}

export interface FairQueueOptions {
  /** Pieces that one owner has waiting or running, and all owners together. */
  maxOfOwner: number
  max: number
}

export function createFairQueue({ maxOfOwner, max }: FairQueueOptions): FairQueue {
  const gate = new FairGate({ places: 1, shareOf: () => 1 })
  const counts = new Map<string, number>()
  let total = 0

  function count(owner: string, change: 1 | -1): void {
    const left = (counts.get(owner) ?? 0) + change
    total += change
    if (left > 0) counts.set(owner, left)
    else counts.delete(owner)
  }

  return {
    async run(owner, work) {
      const isOwners = (counts.get(owner) ?? 0) >= maxOfOwner
      if (isOwners || total >= max) throw new QueueFull(isOwners)
      count(owner, 1)
      // It waits for as long as it takes, so that it is never refused here.
      await gate.enter(owner)
      try {
        return await work()
      } finally {
        gate.leave(owner)
        count(owner, -1)
      }
    },
  }
}

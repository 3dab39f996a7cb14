import { schedule } from 'node-cron'
import type { Services } from '../context.ts'
import { queueWalletUpdates } from '../wallet-updates.ts'
import { sweep } from './sweep.ts'

export interface Scheduler {
  /** Runs everything that is due once; the clock calls it each second. */
  tick(): Promise<void>
  stop(): Promise<void>
}

const CHUNK = 500

/**
 * Each second: marks passes past their expiry, and makes jobs due again whose worker died. Each hour: deletes what is
 * past its time. Every statement may run on
 * several servers at once.
 */
export function startScheduler(services: Services): Scheduler {
  const { store, clock, log } = services

  async function expirePasses(): Promise<void> {
    let expired: number
    do {
      expired = await store.transaction(async (tx) => {
        const at = clock()
        const passes = await tx.passes.expire(at, CHUNK)
        for (const workspaceId of new Set(passes.map((pass) => pass.workspaceId))) {
          const ids = passes.filter((pass) => pass.workspaceId === workspaceId).map((pass) => pass.id)
          await queueWalletUpdates(tx, workspaceId, ids, { at, correlationId: null })
        }
        return passes.length
      })
    } while (expired === CHUNK)
  }

  async function releaseJobs(): Promise<void> {
    const at = clock()
    await store.transaction(async (tx) => {
      const jobs = await tx.jobs.release(at)
      for (const workspaceId of new Set(jobs.map((job) => job.workspaceId))) {
        const passIds = jobs
          .filter((job) => job.workspaceId === workspaceId && job.kind === 'issue-pass')
          .map((job) => job.subject)
        await tx.passes.setQueued(workspaceId, passIds, at)
      }
    })
  }

  async function tick(): Promise<void> {
    if (await store.passes.hasExpired(clock())) await expirePasses()
    if (await store.jobs.hasLapsed(clock())) await releaseJobs()
  }

  let running: Promise<void> = Promise.resolve()
  const task = schedule(
    '* * * * * *',
    () => {
      running = tick().catch((error) => log.error({ err: error }, 'the scheduler could not reach the database'))
      return running
    },
    { noOverlap: true, name: 'each-second' },
  )
  let sweeping: Promise<void> = Promise.resolve()
  const hourly = schedule(
    '17 * * * *',
    () => {
      sweeping = sweep(services).catch((error) => log.error({ err: error }, 'could not delete what is past its time'))
      return sweeping
    },
    { noOverlap: true, name: 'hourly' },
  )
  return {
    tick,
    async stop() {
      await task.destroy()
      await hourly.destroy()
      await Promise.all([running, sweeping])
    },
  }
}

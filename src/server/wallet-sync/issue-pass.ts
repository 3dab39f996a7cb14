import { isUnissued } from '../../core/rules/pass/pass-status.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { Repositories } from '../../storage/store.ts'
import type { Services } from '../context.ts'
import { createPace, type Pace } from '../jobs/chunks.ts'
import type { DiscardedJob } from '../jobs/worker.ts'
import { recordFailure } from './issuing.ts'

type IssueServices = Pick<Services, 'store' | 'clock' | 'issuing' | 'eventLoop'>

/**
 * Issues passes a few at a time, so that other work gets the event loop and the write lock in between. A QUEUED pass
 * becomes ISSUED or FAILED, and is shown as ISSUING while its job is claimed.
 */
export async function issuePasses(jobs: Job[], services: IssueServices): Promise<void> {
  const { workspaceId } = jobs[0]!
  const pace = createPace(SOME)
  for (let done = 0; done < jobs.length; ) {
    const some = jobs.slice(done, done + pace.rows)
    const leave = await services.eventLoop.enterJobs(workspaceId, some.length)
    await issueSome(workspaceId, some, pace, services).finally(leave)
    done += some.length
  }
}

/** Marks a pass as FAILED after its last attempt. An update or a retry queues the pass again. */
export async function failPass(tx: Repositories, job: DiscardedJob, message: string, at: Date): Promise<void> {
  const pass = await tx.passes.findForUpdate(job.workspaceId, job.subject)
  if (!pass || !isUnissued(pass.status)) return
  const error = { code: 'PASS_ISSUING_FAILED' as const, message }
  await recordFailure(tx, pass, error, { at, correlationId: job.correlationId })
}

/** The number of passes per transaction. Fewer than 25 would slow down issuing in total, even on a slow machine. */
const SOME = { first: 50, least: 25, most: 100 }

async function issueSome(
  workspaceId: string,
  jobs: Job[],
  pace: Pace,
  { store, issuing, clock }: IssueServices,
): Promise<void> {
  const passIds = jobs.map((job) => job.subject)
  const outcomes = await issuing.prepare(workspaceId, passIds, clock())
  await pace.run(store, record)

  async function record(tx: Repositories): Promise<void> {
    const at = clock()
    const done = await tx.jobs.complete(jobs)
    const correlationIds = new Map(done.map((job) => [job.subject, job.correlationId]))
    const ours = outcomes.filter(({ pass }) => correlationIds.has(pass.id))
    const correlationIdOf = (passId: string) => correlationIds.get(passId) ?? null
    const changed = await issuing.write(tx, workspaceId, ours, { at, correlationIdOf })
    if (changed.length === 0) return
    const again = changed.map((subject) => ({
      workspaceId,
      kind: 'issue-pass' as const,
      subject,
      correlationId: correlationIdOf(subject),
    }))
    await tx.jobs.insert(again, at)
  }
}

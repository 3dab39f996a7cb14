import { ApiError } from '../../core/errors.ts'
import { addressDigest } from '../../core/rules/join/join-form.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { StoredSubmission } from '../../storage/join/join-submissions-repository.ts'
import type { PassJoin } from '../../storage/passes/pass-row.ts'
import type { Repositories } from '../../storage/store.ts'
import type { CreateContext } from '../api/passes/create-passes.ts'
import type { Services } from '../context.ts'
import { insertJoined, type JoinPlan, joinContext, planJoin } from './create-joined-pass.ts'

type JoinServices = Pick<Services, 'store' | 'clock' | 'wallets' | 'linkOpens'>

/** For each submitted address, creates or finds the pass, and queues the email with its link in one transaction. */
export async function processJoins(jobs: Job[], services: JoinServices): Promise<void> {
  for (const job of jobs) {
    const submission = await services.store.joinSubmissions.find(job.workspaceId, job.subject)
    if (submission) await processJoin(job, submission, services)
    else await services.store.statement((tx) => tx.jobs.complete([job]))
  }
}

async function processJoin(job: Job, submission: StoredSubmission, services: JoinServices): Promise<void> {
  const { store, clock } = services
  const { workspaceId, correlationId } = job
  const { templateId, externalPassId, content } = submission
  const author = { workspaceId, slug: content.join.slug }
  const context = await joinContext(author, store, { correlationId, now: clock() })
  const [version] = await store.templateVersions.listNewestPublished(workspaceId, [templateId])
  const { label, variables } = content
  const plan = version && planJoin({ externalPassId, label, variables }, version, services, context)
  // `planned` is undefined if the template was deleted, or a new version rejects the values.
  const planned = plan instanceof ApiError ? undefined : plan
  const settle = (isFull: boolean) =>
    store.transaction(async (tx) => {
      const [held] = await tx.jobs.complete([job])
      if (!held) return
      const hadPlace = await tx.joinSubmissions.removePlace(workspaceId, submission.id)
      if (!(await tx.joinSubmissions.delete(workspaceId, submission.id))) return
      const isCreated = planned && !isFull && (await createOnce(tx, planned, submission, context, services))
      if (isCreated && !hadPlace && !(await tx.joinPages.take(workspaceId, templateId))) throw new PageFull()
      if (!isCreated && hadPlace) await tx.joinPages.release(workspaceId, templateId)
      await queueEmail(tx, submission, context)
    })
  try {
    await settle(content.recovers)
  } catch (error) {
    if (!(error instanceof PageFull)) throw error
    await settle(true)
  }
}

/** Thrown to roll back the creation of a pass if the page is full. */
class PageFull extends Error {}

/**
 * Releases the place that a submission took on its page, after the job of the submission was discarded. If an operator
 * retries the job, the job takes a place again.
 */
export async function releasePlace(
  tx: Repositories,
  { workspaceId, subject }: Pick<Job, 'workspaceId' | 'subject'>,
): Promise<void> {
  const submission = await tx.joinSubmissions.find(workspaceId, subject)
  if (submission && (await tx.joinSubmissions.removePlace(workspaceId, subject))) {
    await tx.joinPages.release(workspaceId, submission.templateId)
  }
}

/** Creates the pass unless the address already has one. Returns whether a pass was created. */
async function createOnce(
  tx: Repositories,
  plan: JoinPlan,
  { templateId, content }: StoredSubmission,
  context: CreateContext,
  services: Pick<JoinServices, 'linkOpens'>,
): Promise<boolean> {
  const { workspaceId } = context
  const { identity: variable, language, join } = content
  const identity = { templateId, digest: digestOf(content), passId: plan.id, variable, language }
  if (!(await tx.joinIdentities.insert(workspaceId, identity))) return false
  const given: PassJoin = { ...join, consentedAt: join.consentedAt === null ? null : new Date(join.consentedAt) }
  if (await insertJoined(tx, plan, given, context, services)) return true
  // This form already created a pass, which was later erased or transferred. Delete the address that was just stored,
  // because no pass belongs to it.
  await tx.joinIdentities.deleteOfPass(workspaceId, plan.id)
  return false
}

async function queueEmail(
  tx: Repositories,
  { templateId, content }: StoredSubmission,
  { workspaceId, correlationId, now }: CreateContext,
): Promise<void> {
  const address = { templateId, digest: digestOf(content), language: content.language }
  const passId = await tx.joinIdentities.takeMail(workspaceId, address, now)
  if (passId !== undefined) {
    await tx.jobs.insert([{ workspaceId, kind: 'send-join-link', subject: passId, correlationId }], now)
  }
}

function digestOf({ variables, identity }: StoredSubmission['content']): string {
  return addressDigest(String(variables[identity]))
}

import { jobBackoffSeconds } from '../../core/rules/retry.ts'
import type { Job } from '../../storage/jobs.ts'
import type { StoredPass } from '../../storage/pass-row.ts'
import type { Registration } from '../../storage/registrations.ts'
import type { Services } from '../context.ts'

/**
 * Brings what wallets show up to date with the pass as it now stands. Phones of Apple are pushed and fetch by
 * themselves; Google is sent the object. What fails is tried again; what is done already is not done twice.
 */
export async function updateWallets(jobs: Job[], services: Services): Promise<void> {
  for (const workspaceId of new Set(jobs.map((job) => job.workspaceId))) {
    const ours = jobs.filter((job) => job.workspaceId === workspaceId)
    const passIds = [...new Set(ours.map((job) => job.subject))]
    const failures = await updateInWorkspace(workspaceId, passIds, services)
    await settle(ours, failures, services)
  }
}

type Failures = Map<string, string>

async function updateInWorkspace(workspaceId: string, passIds: string[], services: Services): Promise<Failures> {
  const { store } = services
  // Announced before the push, so that a phone that asks at once is told.
  await store.transaction((tx) => tx.registrations.announce(workspaceId, passIds))
  const passes = await store.passes.listByIds(workspaceId, passIds)
  const [apple, google] = await Promise.all([
    pushApple(workspaceId, passes, services),
    sendGoogle(workspaceId, passes, services),
  ])
  return new Map([...apple, ...google])
}

async function pushApple(workspaceId: string, passes: StoredPass[], services: Services): Promise<Failures> {
  const { store, push, clock } = services
  const failures: Failures = new Map()
  if (!push) return failures
  const versions = new Map(passes.map((pass) => [pass.id, pass.walletVersion]))
  const registrations = await store.registrations.list(workspaceId, [...versions.keys()])
  const behind = registrations.filter(({ passId, pushedVersion }) => pushedVersion < versions.get(passId)!)
  if (behind.length === 0) return failures
  // One push says "look" for every pass that the phone holds.
  const results = await push.send([...new Set(behind.map(({ pushToken }) => pushToken))])
  const outcomes = new Map(results.map((result) => [result.pushToken, result]))
  const outcomeOf = ({ pushToken }: Registration) => outcomes.get(pushToken)
  const sent = behind.filter((registration) => outcomeOf(registration)?.outcome === 'sent')
  const failed = behind.filter((registration) => (outcomeOf(registration)?.outcome ?? 'failed') === 'failed')
  const gone = results.filter(({ outcome }) => outcome === 'gone').map(({ pushToken }) => pushToken)
  await store.transaction(async (tx) => {
    const at = clock()
    if (gone.length > 0) await tx.registrations.deleteByTokens(gone)
    await tx.registrations.setPushed(
      workspaceId,
      sent.map(({ passId, deviceId }) => ({ passId, deviceId, version: versions.get(passId)! })),
      at,
    )
    for (const registration of failed) {
      const error = `APPLE_APNS_FAILED: ${outcomeOf(registration)?.reason ?? 'no answer'}`
      await tx.registrations.setError(workspaceId, registration.passId, registration.deviceId, error)
      failures.set(registration.passId, error)
    }
  })
  return failures
}

async function sendGoogle(workspaceId: string, passes: StoredPass[], services: Services): Promise<Failures> {
  const { store, google, clock } = services
  const failures: Failures = new Map()
  if (!google) return failures
  const objects = await store.googleObjects.list(
    workspaceId,
    passes.map((pass) => pass.id),
  )
  const sentVersions = new Map(objects.map((object) => [object.passId, object.sentVersion]))
  const behind = passes.filter((pass) => (sentVersions.get(pass.id) ?? Number.POSITIVE_INFINITY) < pass.walletVersion)
  await Promise.all(
    behind.map(async (pass) => {
      try {
        await google.update(pass)
        await store.transaction((tx) => tx.googleObjects.setSent(workspaceId, pass.id, pass.walletVersion, clock()))
      } catch (error) {
        const message = `GOOGLE_API_FAILED: ${error instanceof Error ? error.message : String(error)}`
        await store.transaction((tx) => tx.googleObjects.setError(workspaceId, pass.id, message))
        failures.set(pass.id, message)
      }
    }),
  )
  return failures
}

/** Completes what is done; gives back what failed, and what changed again while it was sent. */
async function settle(jobs: Job[], failures: Failures, { store, clock }: Services): Promise<void> {
  const at = clock()
  await store.transaction(async (tx) => {
    await tx.jobs.complete(jobs.filter((job) => !failures.has(job.subject)))
    for (const job of jobs) {
      const error = failures.get(job.subject)
      if (error === undefined) continue
      await tx.jobs.retry([job], new Date(at.getTime() + jobBackoffSeconds(job.attempts) * 1000), error)
    }
  })
}

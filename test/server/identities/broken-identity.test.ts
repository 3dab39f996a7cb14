import { describe, expect, onTestFinished, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { MAX_JOB_ATTEMPTS } from '../../../src/core/rules/sending/retries.ts'
import { jobHandlers, onDiscard, queueOptions } from '../../../src/server/background/job-handlers.ts'
import type { Services } from '../../../src/server/context.ts'
import { createBreakers } from '../../../src/server/identities/breakers.ts'
import { startWorker } from '../../../src/server/jobs/worker.ts'
import type { ApplePush, PushResult } from '../../../src/wallets/apple/push.ts'
import { GoogleApiError } from '../../../src/wallets/google/api/api-error.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects, testOn } from '../../support/databases.ts'
import { passBody, publishedTemplate } from '../fixtures.ts'
import { eventually, gate } from '../jobs/fixtures.ts'

/** The broken identity has more jobs than a queue claims at once. */
const [BROKEN, SOUND] = [14, 2]
const queues = {
  ...queueOptions,
  pushes: { interactive: { batchSize: 2, batches: 5 } },
  google: { interactive: { batchSize: 2, batches: 5 } },
}

describe.each(dialects)('on %s', (dialect) => {
  const testOnce = testOn(dialect)
  const api = useApi(dialect)
  let identities = 0

  /**
   * Creates installed passes. The first has an identity of the database, the others that of the server. They have Google
   * objects only if `atGoogle` is set, because creating these takes longer than most tests.
   */
  async function twoBrands({ atGoogle: isAtGoogle = false } = {}) {
    const workspace = await api.workspace()
    const { store, google } = api.services
    identities += 1
    const made = { isSandbox: false, teamIdentifier: 'BROKEN0001', expiresAt: null }
    const [apple, atGoogle] = await store.transaction(async (tx) => [
      (await tx.identities.insert(
        {
          ...made,
          platform: 'apple',
          name: `broken-${identities}`,
          passTypeIdentifier: `pass.broken.${identities}`,
          issuerId: null,
        },
        () => 'none:none',
        api.now,
      ))!,
      (await tx.identities.insert(
        {
          ...made,
          platform: 'google',
          name: `broken-google-${identities}`,
          passTypeIdentifier: null,
          teamIdentifier: null,
          issuerId: `${identities}`,
        },
        () => 'none:none',
        api.now,
      ))!,
    ])
    await store.transaction(async (tx) => {
      for (const { id } of [apple!, atGoogle!]) await tx.identities.insertGrant(workspace.id, id)
    })
    const { id: templateId } = await publishedTemplate(workspace)
    const passes = Array.from({ length: BROKEN + SOUND }, () => passBody(templateId))
    const { results } = await workspace.ok(contract.passes.createBatch, { body: { passes } })
    const ids = results.map(({ pass }) => pass!.id)
    if (isAtGoogle) {
      const stored = await store.passes.listByIds(workspace.id, ids)
      await Promise.all(stored.map((pass) => google!.ensure(pass, api.now)))
    }
    await api.database.writer('jobs').where({ workspace_id: workspace.id }).delete()
    await store.transaction(async (tx) => {
      await tx.passes.setIssued(workspace.id, ids, api.now)
      for (const passId of ids) {
        await tx.registrations.insert(workspace.id, { passId, deviceId: passId, pushToken: passId }, api.now)
      }
    })
    const broken = ids.slice(0, BROKEN)
    const columns = { apple_identity_id: apple!.id, google_identity_id: atGoogle!.id }
    await api.database.writer('passes').whereIn('id', broken).update(columns)
    await api.services.identities.refresh()
    return { workspace, broken, sound: ids.slice(BROKEN), names: { apns: apple!.name, google: atGoogle!.name } }
  }

  const update = async (workspace: TestWorkspace, ids: string[], label: string) => {
    for (const id of ids) await workspace.ok(contract.passes.update, { params: { id }, body: { label } })
  }

  /** Prevents valid calls from counting as hanging on a busy machine. The clock is stopped, so they never time out. */
  function work(given: Partial<Services>, how = 'answers') {
    const { identities: registry, clock, log, metrics } = api.services
    const nameOf = (id: string) => registry.list().find((one) => one.id === id)!.name
    const breakers = createBreakers({ nameOf, clock, log, metrics, hangSeconds: how === 'hangs' ? 3 : 60 })
    const services = { ...api.services, breakers, ...given }
    const worker = startWorker(services, { handlers: jobHandlers, onDiscard, queues, pollSeconds: 0.02 })
    onTestFinished(() => worker.stop())
  }

  /** Returns whether wallets of a platform were notified of the last change of all passes. */
  const isTold = async (workspace: TestWorkspace, ids: string[], platform: 'apple' | 'google') => {
    const { store } = api.services
    const passes = await store.passes.listByIds(workspace.id, ids)
    const current = Object.fromEntries(passes.map(({ id, walletVersion }) => [id, walletVersion]))
    expect(Object.keys(current)).toHaveLength(ids.length)
    const sent =
      platform === 'apple'
        ? (await store.registrations.list(workspace.id, ids)).map((one) => [one.passId, one.pushedVersion])
        : (await store.googleObjects.list(workspace.id, ids)).map((one) => [one.passId, one.sentVersion])
    expect(Object.fromEntries(sent)).toEqual(current)
  }
  const expectTold = (...of: Parameters<typeof isTold>) => eventually(() => isTold(...of))

  const paused = async (provider: string, identity: string) => {
    const { values } = await api.services.metrics.identityPaused.get()
    return values.find(({ labels }) => labels.provider === provider && labels.identity === identity)?.value
  }

  testOnce.each(['hangs', 'refuses its key'])(
    'phones of one brand are notified while APNs of another %s',
    async (how) => {
      const { workspace, broken, sound, names } = await twoBrands()
      const answers = (tokens: string[]): PushResult[] =>
        tokens.map((pushToken) => ({ pushToken, outcome: 'sent', reason: null }))
      let isSound = false
      const tried: string[] = []
      const hung = gate()
      const push: ApplePush = { send: async (tokens) => answers(tokens), close: async () => undefined }
      const other: ApplePush = {
        ...push,
        async send(tokens) {
          tried.push(...tokens)
          if (isSound) return answers(tokens)
          if (how === 'hangs') await hung.pass()
          return tokens.map((pushToken) => ({ pushToken, outcome: 'failed', reason: 'certificate revoked' }))
        },
      }
      const { identities: registry } = api.services
      const of = async () => ({ wallet: api.services.wallets.apple!, push: other }) as never
      await update(workspace, broken, 'B-1')
      await update(workspace, sound, 'S-1')
      work({ push, identities: { ...registry, of }, google: undefined as never }, how)
      // Release the calls before the worker stops, because it waits for them.
      onTestFinished(() => hung.open())
      await expectTold(workspace, sound, 'apple')
      // A pass that was in one batch with passes of the broken identity can change again.
      await update(workspace, sound, 'S-2')
      await expectTold(workspace, sound, 'apple')
      expect(tried.length).toBeLessThan(BROKEN)

      hung.open()
      await eventually(async () => expect(await paused('apns', names.apns)).toBe(1))
      const before = tried.length
      await update(workspace, sound, 'S-3')
      await expectTold(workspace, sound, 'apple')
      expect(tried).toHaveLength(before)

      isSound = true
      await eventually(async () => {
        api.advance(10)
        await isTold(workspace, broken, 'apple')
      })
      expect(await paused('apns', names.apns)).toBe(0)
    },
  )

  test('a phone whose APNs was down for hours is notified when it is back', async () => {
    const { workspace, broken, names } = await twoBrands()
    const { identities: registry } = api.services
    const [id] = broken as [string]
    let isSound = false
    let tried = 0
    const push: ApplePush = {
      async send(tokens) {
        tried += 1
        const outcome = isSound ? ('sent' as const) : ('failed' as const)
        return tokens.map((pushToken) => ({ pushToken, outcome, reason: isSound ? null : 'ServiceUnavailable' }))
      },
      close: async () => undefined,
    }
    const of = async () => ({ wallet: api.services.wallets.apple!, push }) as never
    await update(workspace, [id], 'B-1')
    work({ push, identities: { ...registry, of }, google: undefined as never })
    await eventually(
      () => {
        api.advance(60)
        expect(tried).toBeGreaterThan(2 * MAX_JOB_ATTEMPTS)
      },
      { interval: 25 },
    )
    expect(await paused('apns', names.apns)).toBe(1)
    const jobs = await api.database.writer('jobs').where({ workspace_id: workspace.id, kind: 'update-apple' })
    expect(jobs).toMatchObject([{ subject: id, failed_at: null }])
    isSound = true
    await eventually(async () => {
      api.advance(60)
      await isTold(workspace, [id], 'apple')
    })
  })

  testOnce('former holders of a paused brand are notified later, and no attempt is counted', async () => {
    const { workspace, broken, names } = await twoBrands()
    const { identities: registry } = api.services
    let isSound = false
    const told: string[] = []
    const push: ApplePush = {
      async send(tokens) {
        if (isSound) told.push(...tokens)
        const outcome = isSound ? ('sent' as const) : ('failed' as const)
        return tokens.map((pushToken) => ({ pushToken, outcome, reason: isSound ? null : 'certificate revoked' }))
      },
      close: async () => undefined,
    }
    const of = async () => ({ wallet: api.services.wallets.apple!, push }) as never
    await update(workspace, broken.slice(1), 'B-1')
    work({ push, identities: { ...registry, of }, google: undefined as never })
    await eventually(async () => expect(await paused('apns', names.apns)).toBe(1))
    const id = broken[0]!
    await workspace.ok(contract.passes.transfer, { params: { id }, body: { label: 'B-2' } })
    const jobs = () => api.database.writer('jobs').where({ workspace_id: workspace.id, kind: 'expire-apple' })
    await eventually(async () => {
      const [job] = await jobs()
      expect([job.attempts, job.claim_token, Number(job.run_at) > api.now.getTime()]).toEqual([0, null, true])
    })
    isSound = true
    await eventually(async () => {
      api.advance(10)
      expect(await jobs()).toEqual([])
    })
    expect(told).toContain(id)
  })

  testOnce.each(['hangs', 'answers 503', 'refuses its key'])(
    'objects of one brand are sent while Google of another %s',
    async (how) => {
      const { workspace, broken, sound, names } = await twoBrands({ atGoogle: true })
      const { google, store, identities: registry } = api.services
      let isSound = false
      let tried = 0
      const hung = gate()
      const note = async (workspaceId: string, id: string, version: number) => {
        const [object] = await store.googleObjects.list(workspaceId, [id])
        await store.transaction((tx) =>
          tx.googleObjects.setSent(workspaceId, id, { ...object!.sent!, version }, api.now),
        )
      }
      const ofBrands: NonNullable<Services['google']> = {
        ...google!,
        async update(pass) {
          if (pass.googleIdentityId !== null && !isSound) {
            tried += 1
            if (how === 'hangs') await hung.pass()
            if (how === 'refuses its key') throw new GoogleApiError({ kind: 'permission', message: 'x', status: 400 })
            throw new GoogleApiError({ kind: 'unavailable', message: 'x', status: 503 })
          }
          await note(pass.workspaceId, pass.id, pass.walletVersion)
          return 'sent'
        },
      }
      await update(workspace, broken, 'B-1')
      await update(workspace, sound, 'S-1')
      work({ google: ofBrands, identities: registry }, how)
      // Release the calls before the worker stops, because it waits for them.
      onTestFinished(() => hung.open())
      await expectTold(workspace, sound, 'google')
      await update(workspace, sound, 'S-2')
      await expectTold(workspace, sound, 'google')
      expect(tried).toBeLessThan(BROKEN)

      hung.open()
      await eventually(async () => expect(await paused('google', names.google)).toBe(1))
      isSound = true
      await eventually(async () => {
        api.advance(10)
        await isTold(workspace, broken, 'google')
      })
      expect(await paused('google', names.google)).toBe(0)
    },
  )

  test('while Google returns 503 to an identity, its classes and former objects wait until a renewal', async () => {
    const { workspace, broken, sound, names } = await twoBrands({ atGoogle: true })
    const { google, store, identities: registry, breakers } = api.services
    const { id: workspaceId } = workspace
    let isSound = false
    const tried: string[] = []
    const call = (what: string) => {
      tried.push(what)
      if (!isSound) throw new GoogleApiError({ kind: 'unavailable', message: 'x', status: 503 })
    }
    const [pass] = await store.passes.listByIds(workspaceId, broken)
    const [object] = await store.googleObjects.list(workspaceId, broken.slice(0, 1))
    const ofBrands: NonNullable<Services['google']> = {
      ...google!,
      async update(one) {
        if (one.googleIdentityId !== null) call('object')
        const [known] = await store.googleObjects.list(workspaceId, [one.id])
        await store.transaction((tx) =>
          tx.googleObjects.setSent(workspaceId, one.id, { ...known!.sent!, version: one.walletVersion }, api.now),
        )
        return 'sent'
      },
      async upsertClass(_, __, { issuer }) {
        if (issuer.googleIdentityId !== null) call('class')
      },
      async sideOf() {
        call('former object')
        return { api: google!.api, wallet: api.services.wallets.google! }
      },
    }
    await update(workspace, broken, 'B-1')
    work({ google: ofBrands, breakers })
    await eventually(async () => expect(await paused('google', names.google)).toBe(1))
    tried.length = 0

    await api.database
      .writer('workspaces')
      .where({ id: workspaceId })
      .update({ google_identity_id: pass!.googleIdentityId })
    const job = { workspaceId, correlationId: null }
    await store.transaction(async (tx) => {
      const former = { ...object!.sent!, objectSuffix: 'former', templateVersionId: pass!.templateVersionId }
      await tx.googleObjects.insertTransferred(workspaceId, pass!.id, former)
      await tx.jobs.insertOnce(
        [
          { ...job, kind: 'upsert-google-class', subject: pass!.templateVersionId! },
          { ...job, kind: 'expire-google', subject: pass!.id },
        ],
        api.now,
      )
    })
    const waiting = async () => {
      const kinds = ['upsert-google-class', 'expire-google']
      return api.database.writer('jobs').where({ workspace_id: workspaceId }).whereIn('kind', kinds)
    }
    await eventually(async () => {
      const rows = await waiting()
      expect(rows.map(({ run_at }) => Number(run_at) > api.now.getTime())).toEqual([true, true])
      // The platform was not called, so no attempt is counted.
      expect(rows.map(({ attempts, claim_token }) => [attempts, claim_token])).toEqual([
        [0, null],
        [0, null],
      ])
    })
    await update(workspace, sound, 'S-1')
    await expectTold(workspace, sound, 'google')
    expect(tried).toEqual([])

    // The clock is stopped. The snoozed jobs run because the identity was renewed.
    isSound = true
    await store.transaction((tx) => tx.identities.update(pass!.googleIdentityId!, {}, api.now))
    await registry.refresh()
    expect(await paused('google', names.google)).toBe(0)
    await expectTold(workspace, broken, 'google')
    await eventually(async () => expect((await waiting()).map(({ kind }) => kind)).toEqual(['upsert-google-class']))
    api.advance(60)
    await eventually(async () => expect(await waiting()).toEqual([]))
    expect(new Set(tried)).toEqual(new Set(['object', 'class', 'former object']))
  })
})

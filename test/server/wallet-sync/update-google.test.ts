import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { createGoogleSync, type GoogleSync } from '../../../src/server/wallet-sync/google-sync.ts'
import { updateGoogleObjects } from '../../../src/server/wallet-sync/update-google.ts'
import { GoogleApiError } from '../../../src/wallets/google/api/api-error.ts'
import type { GoogleCalls } from '../../../src/wallets/google/api/google-api.ts'
import { sandboxIdentities, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { definition, issuedPass, publishVersion } from '../fixtures.ts'
import { eventually, gate } from '../jobs/fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  /** Creates a pass whose link was opened, so that Google has it, and changes it. */
  async function changedPass() {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const pass = () => api.services.store.passes.find(workspace.id, id).then((found) => found!)
    await api.services.google!.ensure(await pass(), api.now)
    const update = (label: string) => workspace.ok(contract.passes.update, { params: { id }, body: { label } })
    await update('Grace')
    return { workspace, id, pass, update }
  }

  test('a version that drops its languages takes their texts from the object at Google', async () => {
    const workspace = await api.workspace()
    const texts = (pt: string, en: string) => ({ pt, en })
    const content = definition()
    const [seat] = content.design.fields!.secondary!
    const translated = {
      ...content,
      languages: { default: 'pt', others: ['en'] },
      design: {
        ...content.design,
        logoText: texts('Cinema do porto', 'Harbour Cinema'),
        fields: { primary: [{ ...seat!, label: texts('Lugar', 'Seat') }] },
      },
    }
    const { id, templateId } = await issuedPass(workspace, { definition: translated })
    const { google, store } = api.services
    await google!.ensure((await store.passes.find(workspace.id, id))!, api.now)
    const objectId = `${sandboxIdentities().google!.issuerId}.${id}-generic`
    const object = async () => JSON.stringify(await google!.api.getObject('generic', objectId))
    expect(await object()).toContain('Harbour Cinema')
    await publishVersion(workspace, templateId!, {
      ...content,
      design: { ...translated.design, logoText: 'Cinema do porto', fields: { primary: [seat!] } },
    })
    await workspace.ok(contract.passes.update, { params: { id }, body: { templateVersion: 'latest' } })
    await api.runJobs()
    expect(await object()).toContain('Cinema do porto')
    expect(await object()).not.toMatch(/translatedValues|Harbour Cinema"|localized/)
  })

  const jobsOf = (subject: string): Promise<Record<string, unknown>[]> =>
    api.database.writer('jobs').where({ subject, kind: 'update-google' })

  /** Runs the job of a pass while Google responds to every update with `update`. */
  async function runWith(subject: string, update: GoogleSync['update']): Promise<void> {
    const { store, google } = api.services
    const claim = { limit: 100, leaseSeconds: 10 }
    const jobs = await store.transaction((tx) => tx.jobs.claim('google', api.now, claim))
    expect(jobs.map((job) => job.subject)).toContain(subject)
    await updateGoogleObjects(jobs, { ...api.services, google: { ...google!, update } })
  }

  const refused = (error: GoogleApiError) => async () => {
    throw error
  }

  test('an update delayed by our own pacing is snoozed for that time, and no attempt is counted', async () => {
    const { id, workspace } = await changedPass()
    await runWith(id, refused(new GoogleApiError({ kind: 'quota', message: 'x', retryAfterSeconds: 45 })))
    expect(await jobsOf(id)).toMatchObject([{ attempts: 0, claim_token: null, run_at: api.now.getTime() + 45_000 }])
    const { google } = await workspace.ok(contract.passes.wallets, { params: { id } })
    expect(google).toMatchObject({ state: 'stale', lastError: null })
  })

  test('retries an update that Google rejects, not before Retry-After, and reports the reason', async () => {
    const { id, workspace } = await changedPass()
    const quota = { kind: 'quota', message: 'Google answered 429', status: 429, retryAfterSeconds: 45 } as const
    await runWith(id, refused(new GoogleApiError(quota)))
    expect(await jobsOf(id)).toMatchObject([{ attempts: 1, run_at: api.now.getTime() + 45_000, failed_at: null }])
    const wallets = await workspace.ok(contract.passes.wallets, { params: { id } })
    expect(wallets.google).toMatchObject({ state: 'stale', lastError: 'GOOGLE_API_FAILED: Google answered 429' })
    api.advance(45)
    await api.runJobs()
    expect(await jobsOf(id)).toEqual([])
    expect((await workspace.ok(contract.passes.wallets, { params: { id } })).google).toMatchObject({
      state: 'current',
      lastError: null,
    })
  })

  test('does not retry a permanently rejected update, and the pass has the reason', async () => {
    const { id, workspace, update } = await changedPass()
    const message = 'Google answered 400'
    await runWith(id, refused(new GoogleApiError({ kind: 'invalid', message, status: 400 })))
    expect(await jobsOf(id)).toEqual([])
    const walletsOf = () => workspace.ok(contract.passes.wallets, { params: { id } })
    const lastError = { platform: 'google', code: 'GOOGLE_API_FAILED', message, at: api.now.toISOString() }
    expect(await walletsOf()).toMatchObject({ google: { state: 'stale' }, lastError })
    // The next change is sent. Google accepts it, so the pass is no longer rejected.
    await update('Katherine')
    await api.runJobs()
    expect(await walletsOf()).toMatchObject({ google: { state: 'current' }, lastError: null })
  })

  const broken = [
    ['cannot take', { kind: 'unavailable', message: 'Google answered 500', status: 500 }],
    ['takes of no such key', { kind: 'permission', message: 'Google answered 403', status: 403 }],
  ] as const

  test.each(broken)('finally discards an update that Google %s while it accepts others', async (_, error) => {
    const { id } = await changedPass()
    const answered = async () =>
      api.services.breakers.of('google', null).run(async () => 1, { outcomeOf: () => 'answered' })
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      await answered()
      await runWith(id, refused(new GoogleApiError(error)))
      api.advance(300)
    }
    await answered()
    expect(await jobsOf(id)).toMatchObject([{ attempts: 20, failed_at: expect.any(Number) }])
  })

  test.each(broken)('an update waits while Google %s for everything of its identity', async (_, error) => {
    const { id, workspace } = await changedPass()
    for (let attempt = 1; attempt <= 30; attempt += 1) {
      await runWith(id, refused(new GoogleApiError(error)))
      api.advance(300)
    }
    expect(await jobsOf(id)).toMatchObject([{ attempts: 4, failed_at: null }])
    const walletsOf = () => workspace.ok(contract.passes.wallets, { params: { id } })
    expect((await walletsOf()).google!.lastError).toBe(`GOOGLE_API_FAILED: ${error.message}`)
    await api.runJobs()
    expect((await walletsOf()).google).toMatchObject({ state: 'current', lastError: null })
  })

  test.each([
    ['before Google has its object', false],
    ['while an older object is in flight, which may arrive last', true],
  ])('resends a pass that changes %s', async (_, isKnown) => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const { store, google, issuing, wallets, clock } = api.services
    const find = async () => (await store.passes.find(workspace.id, id))!
    const update = (label: string) => workspace.ok(contract.passes.update, { params: { id }, body: { label } })
    if (isKnown) {
      await google!.ensure(await find(), api.now)
      await update('Grace')
    }
    const held = gate()
    const upsertObject: GoogleCalls['upsertObject'] = async (...call) => {
      await held.pass()
      await google!.api.upsertObject(...call)
    }
    const slow = { ...google!.api, upsertObject }
    const sync = createGoogleSync({ api: slow, wallet: wallets.google!, store, issuing, clock })
    const sending = sync.ensure(await find(), api.now)
    await eventually(() => expect(held.waiting()).toBe(1))
    await update('Katherine')
    await api.runJobs()
    held.open()
    await sending

    await api.runJobs()
    const { id: objectId } = wallets.google!.objectOf(await issuing.render(await find()), api.now)
    const object = await google!.api.getObject('generic', objectId)
    expect(JSON.stringify(object)).toContain('Katherine')
    expect(await jobsOf(id)).toEqual([])
    const { google: shown } = await workspace.ok(contract.passes.wallets, { params: { id } })
    expect(shown?.state).toBe('current')
  })

  test('simultaneous requests for a pass share one object and its failure; later ones try again', async () => {
    const { store, issuing, google, wallets } = api.services
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const pass = (await store.passes.find(workspace.id, id))!
    let calls = 0
    const upsertObject: GoogleCalls['upsertObject'] = async (...call) => {
      calls += 1
      if (calls === 1) throw new GoogleApiError({ kind: 'unavailable', message: 'Google answered 503', status: 503 })
      await google!.api.upsertObject(...call)
    }
    const counted = { ...google!.api, upsertObject }
    const sync = createGoogleSync({ api: counted, wallet: wallets.google!, store, issuing, clock: () => api.now })
    const openAtOnce = () => Promise.allSettled(Array.from({ length: 20 }, () => sync.ensure(pass, api.now)))
    expect(new Set((await openAtOnce()).map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect(new Set((await openAtOnce()).map(({ status }) => status))).toEqual(new Set(['fulfilled']))
    expect(calls).toBe(2)
  })
})

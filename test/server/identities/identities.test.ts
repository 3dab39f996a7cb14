import { expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { issuedPass, publishedTemplate } from '../fixtures.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

let number = 0

/** Adds an identity like an operator does, but with a key that cannot be unsealed. */
async function addBroken({ id: workspaceId }: TestWorkspace) {
  number += 1
  const identity = {
    platform: 'apple' as const,
    name: `broken-${number}`,
    isSandbox: false,
    passTypeIdentifier: `pass.example.broken-${number}`,
    teamIdentifier: 'BROKEN0001',
    issuerId: null,
    expiresAt: null,
  }
  return api.services.store.transaction(async (tx) => {
    const made = (await tx.identities.insert(identity, () => 'none:none', api.now))!
    await tx.identities.insertGrant(workspaceId, made.id)
    return made
  })
}

test('an unusable identity affects only its own passes', async () => {
  const workspace = await api.workspace()
  const { id } = await workspace.ok(contract.projects.create, { body: { name: 'Broken' } })
  const broken = await addBroken(workspace)
  await workspace.ok(contract.projects.update, { params: { id }, body: { appleIdentityId: broken.id } })
  // Publishing checks a definition with the identity that its passes would have.
  await expect(issuedPass(workspace, { projectId: id })).rejects.toThrow()
  expect(await issuedPass(workspace)).toMatchObject({ status: 'ISSUED' })

  await workspace.ok(contract.projects.update, { params: { id }, body: { appleIdentityId: null } })
  const pass = await issuedPass(workspace, { projectId: id })
  expect(pass.status).toBe('ISSUED')
  await workspace.ok(contract.projects.update, { params: { id }, body: { appleIdentityId: broken.id } })
  const body = { externalPassId: 'of-the-broken-one', label: 'Ada', templateId: pass.templateId! }
  const { id: failed } = await workspace.ok(contract.passes.create, { body })
  await api.runJobs()
  expect(await workspace.ok(contract.passes.get, { params: { id: failed } })).toMatchObject({ status: 'FAILED' })
  // A pass that was created before the change keeps its identity.
  const stored = await api.services.store.passes.listByIds(workspace.id, [pass.id, failed])
  const identities = new Map(stored.map((one) => [one.id, one.appleIdentityId]))
  expect([identities.get(pass.id), identities.get(failed)]).toEqual([null, broken.id])
})

test('a workspace sees and uses its assigned identities of the right platform until they are retired', async () => {
  const [ours, theirs] = [await api.workspace(), await api.workspace()]
  const mine = await addBroken(ours)
  const { id } = await theirs.ok(contract.projects.create, { body: { name: 'Theirs' } })
  expect((await theirs.ok(contract.identities.list, {})).items).toEqual([])
  const { items } = await ours.ok(contract.identities.list, {})
  expect(items).toMatchObject([{ id: mine.id, name: mine.name, passTypeIdentifier: mine.passTypeIdentifier }])
  expect(JSON.stringify(items)).not.toContain('none:none')

  const use = (body: object) => theirs.refused(contract.projects.update, { params: { id }, body })
  expect(await use({ appleIdentityId: mine.id })).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
  const own = await addBroken(theirs)
  expect(await use({ googleIdentityId: own.id })).toMatchObject({ status: 400 })
  const body = { appleIdentityId: own.id }
  expect(await theirs.ok(contract.projects.update, { params: { id }, body })).toMatchObject(body)
  await api.services.store.transaction((tx) => tx.identities.update(own.id, { status: 'retired' }, api.now))
  expect((await use(body)).message).toContain('is retired')
  const { id: templateId } = await publishedTemplate(theirs)
  const passes = [{ externalPassId: 'I-1', label: 'Ada' }]
  const imported = { body: { templateId, identityId: own.id, passes } }
  expect((await theirs.refused(contract.passes.import, imported)).message).toContain('is retired')

  const scopes = ['templates:read' as const, 'templates:write' as const]
  const bound = await api.token(theirs.id, { scopes, projectIds: [id] })
  const answer = await api.send('GET', '/v1/identities', { headers: { authorization: `Bearer ${bound}` } })
  expect(answer.body).toMatchObject({ items: [], total: 0 })
})

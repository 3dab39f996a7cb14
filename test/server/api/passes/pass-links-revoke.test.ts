import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import { useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import { definition, issuedPass, makePass, publishedTemplate } from '../../fixtures.ts'
import { changed, read, traces } from './pass-changes.ts'

const { revokeLinks } = contract.passes

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)

  const statuses = async (links: Pass['hostedLinks']) => {
    const answers = await Promise.all(
      Object.values(links)
        .filter((link) => link !== null)
        .map((link) => api.send('GET', new URL(link!).pathname, { headers: { accept: 'application/json' } })),
    )
    return answers.map(({ status, body }) => (status === 410 ? (body as { errorCode: string }).errorCode : status))
  }

  test('existing links return 410 LINK_REVOKED, and links of a later read work', async () => {
    const workspace = await api.workspace()
    const { id, hostedLinks: first } = await issuedPass(workspace)
    expect(await statuses(first)).toEqual([200, 302, 200])
    api.advance(60)
    const { hostedLinks: second } = await read(workspace, id)
    const revoked = await workspace.ok(revokeLinks, { params: { id } })
    expect(revoked).toEqual({ id, revokedAt: api.now.toISOString(), revokedCount: 3 })
    for (const links of [first, second]) {
      expect(await statuses(links)).toEqual(['LINK_REVOKED', 'LINK_REVOKED', 'LINK_REVOKED'])
    }
    const { hostedLinks: fresh } = await read(workspace, id)
    expect(await statuses(fresh)).toEqual([200, 302, 200])
  })

  testOnce('revoking again also revokes the new links', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    for (let round = 0; round < 3; round += 1) {
      const { hostedLinks } = await read(workspace, id)
      expect(await workspace.ok(revokeLinks, { params: { id } })).toMatchObject({ revokedCount: 3 })
      expect(await statuses(hostedLinks)).toEqual(['LINK_REVOKED', 'LINK_REVOKED', 'LINK_REVOKED'])
    }
    expect(await statuses((await read(workspace, id)).hostedLinks)).toEqual([200, 302, 200])
  })

  testOnce('a browser with a revoked link gets a page', async () => {
    const workspace = await api.workspace()
    const { id, hostedLinks } = await issuedPass(workspace)
    await workspace.ok(revokeLinks, { params: { id } })
    const page = await api.send('GET', new URL(hostedLinks.smart!).pathname)
    expect([page.status, page.headers.get('content-type')]).toEqual([410, 'text/html; charset=utf-8'])
  })

  test('a pass that is still QUEUED has links to revoke; one that is not installable has none', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const { id } = await makePass(workspace, template.id)
    expect(await workspace.ok(revokeLinks, { params: { id } })).toMatchObject({ revokedCount: 3 })
    await workspace.ok(contract.passes.void, { params: { id } })
    expect(await workspace.ok(revokeLinks, { params: { id } })).toMatchObject({ revokedCount: 0 })
    const expired = await issuedPass(workspace, { definition: definition({ expiresAt: '2020-01-01' }) })
    expect(await workspace.ok(revokeLinks, { params: { id: expired.id } })).toMatchObject({ revokedCount: 0 })
  })

  test('links from before an expiry stay revoked when the pass becomes valid again', async () => {
    const workspace = await api.workspace()
    const content = definition({ expiresAt: '{{seat}}' })
    const { id, hostedLinks } = await issuedPass(workspace, { definition: content, variables: { seat: '2036-01-01' } })
    await changed(workspace, id, { variables: { seat: '2020-01-01' } })
    await workspace.ok(revokeLinks, { params: { id } })
    const live = await changed(workspace, id, { variables: { seat: '2036-01-01' } })
    expect(await statuses(hostedLinks)).toEqual(['LINK_REVOKED', 'LINK_REVOKED', 'LINK_REVOKED'])
    expect(await statuses(live.hostedLinks)).toEqual([200, 302, 200])
  })

  testOnce('an update does not revoke links', async () => {
    const workspace = await api.workspace()
    const { id, hostedLinks } = await issuedPass(workspace)
    await changed(workspace, id, { label: 'Grace' })
    expect(await statuses(hostedLinks)).toEqual([200, 302, 200])
  })

  test('a revocation changes no wallet, revision, or event', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const before = await traces(workspace, id)
    await workspace.ok(revokeLinks, { params: { id } })
    const after = await traces(workspace, id)
    expect([after.pass.revision, after.pass.wallet_version, after.pass.status]).toEqual([
      before.pass.revision,
      before.pass.wallet_version,
      'ISSUED',
    ])
    expect({ ...after, pass: 0 }).toEqual({ ...before, pass: 0 })
  })

  testOnce('accepts no body; a pass of another workspace is 404 PASS_NOT_FOUND and keeps its links', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    const { id, hostedLinks } = await issuedPass(workspace)
    const answer = await workspace.send('POST', `/v1/passes/${id}/links/revoke`, { body: { why: 'lost' } })
    expect(answer.status).toBe(400)
    expect(await other.refused(revokeLinks, { params: { id } })).toMatchObject({ errorCode: 'PASS_NOT_FOUND' })
    expect(await statuses(hostedLinks)).toEqual([200, 302, 200])
  })
})

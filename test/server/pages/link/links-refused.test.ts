import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import type { ErrorBody } from '../../../../src/core/contract/schemas/common.ts'
import { useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { issuedPass } from '../../fixtures.ts'

const DAY_SECONDS = 86_400
const kinds = ['apple', 'google', 'smart'] as const
const design = { organizationName: 'O', description: 'D' }

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  const pathsOf = ({ hostedLinks }: Pass) => kinds.map((kind) => new URL(hostedLinks[kind]!).pathname)

  const kept = ({ headers }: { headers: Headers }) => [headers.get('cache-control'), headers.get('vary')]

  /** Expects that programs get the error as JSON, and people a page that says what to do. */
  async function expectRefused(path: string, status: number, code: string) {
    for (const accept of ['application/json', 'Application/JSON']) {
      const json = await api.send('GET', path, { headers: { accept } })
      expect([json.status, (json.body as ErrorBody).errorCode], path).toEqual([status, code])
      expect(kept(json)).toEqual(['no-store', 'Accept'])
    }
    for (const accept of ['text/html,application/xhtml+xml,*/*;q=0.8', '*/*', undefined]) {
      const page = await api.send('GET', path, accept ? { headers: { accept } } : {})
      expect([page.status, page.headers.get('content-type')], path).toEqual([status, 'text/html; charset=utf-8'])
      expect(kept(page)).toEqual(['no-store', 'Accept, Accept-Language'])
      expect(page.headers.get('content-language')).toBe('en')
      expect(page.text).toMatch(/<h1>[^<]+<\/h1>/)
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(page.text).not.toContain(path.slice(3, 20))
    }
  }

  test('a link with any part changed is 404 LINK_INVALID', async () => {
    const workspace = await api.workspace()
    const [path] = pathsOf(await issuedPass(workspace)) as [string]
    const swap = (index: number) => path.slice(0, index) + (path[index] === 'A' ? 'B' : 'A') + path.slice(index + 1)
    for (const index of [3, 30, path.length - 1]) await expectRefused(swap(index), 404, 'LINK_INVALID')
  })

  test.each(['7x7x', 'A'.repeat(80), 'A'.repeat(79), 'A'.repeat(5000), '%00', '..%2f..%2f', '<script>alert(1)<'])(
    'a malformed link is 404 LINK_INVALID: %s',
    async (token) => {
      await expectRefused(`/l/${token}`, 404, 'LINK_INVALID')
    },
  )

  test('a link of another server key, or of an unknown pass, is 404 LINK_INVALID', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const stored = (await api.services.store.passes.find(workspace.id, pass.id))!
    const gone = { ...stored, id: '018f2f5e-7c1a-7000-8000-0123456789ab' }
    const foreign = { ...stored, workspaceId: (await api.workspace()).id }
    for (const other of [gone, foreign]) {
      const path = new URL(api.services.links.urlFor('apple', other, api.now)).pathname
      await expectRefused(path, 404, 'LINK_INVALID')
    }
  })

  test('an expired link is 404 LINK_INVALID, and a new one works', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    api.advance(400 * DAY_SECONDS - 1)
    for (const path of pathsOf(pass)) expect((await api.send('GET', path)).status).toBeLessThan(400)
    api.advance(1)
    for (const path of pathsOf(pass)) await expectRefused(path, 404, 'LINK_INVALID')
    const fresh = await workspace.ok(contract.passes.get, { params: { id: pass.id } })
    for (const path of pathsOf(fresh)) expect((await api.send('GET', path)).status).toBeLessThan(400)
  })

  test('a link of an earlier generation is 410 LINK_REVOKED, and a new one works', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    await api.database.writer('passes').where({ id: pass.id }).update({ link_generation: 1 })
    for (const path of pathsOf(pass)) await expectRefused(path, 410, 'LINK_REVOKED')
    const fresh = await workspace.ok(contract.passes.get, { params: { id: pass.id } })
    for (const path of pathsOf(fresh)) expect((await api.send('GET', path)).status).toBeLessThan(400)
  })

  test.each(['VOID', 'FAILED', 'EXPIRED'])('a link of a pass that is %s is 410 LINK_REVOKED', async (status) => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    await api.database.writer('passes').where({ id: pass.id }).update({ status })
    for (const path of pathsOf(pass)) await expectRefused(path, 410, 'LINK_REVOKED')
    const read = await workspace.ok(contract.passes.get, { params: { id: pass.id } })
    expect(read.hostedLinks).toEqual({ apple: null, google: null, smart: null, group: null })
  })

  test('a link of a pass that expired is 410 LINK_REVOKED before any sweep', async () => {
    const workspace = await api.workspace()
    const expiresAt = new Date(api.now.getTime() + DAY_SECONDS * 1000).toISOString()
    const pass = await issuedPass(workspace, { definition: { design, expiresAt } })
    api.advance(DAY_SECONDS)
    for (const path of pathsOf(pass)) await expectRefused(path, 410, 'LINK_REVOKED')
  })

  test('a link opens without a token, and a token makes no difference', async () => {
    const workspace = await api.workspace()
    const [path] = pathsOf(await issuedPass(workspace)) as [string]
    expect((await api.send('GET', path, { headers: { authorization: 'Bearer nonsense' } })).status).toBe(200)
  })
})

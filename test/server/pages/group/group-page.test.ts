import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import { sandboxIdentities, type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { eventually } from '../../../support/eventually.ts'
import { unpack, verifySignature } from '../../../wallets/apple/fixtures.ts'
import { definition, passBody, publishedTemplate } from '../../fixtures.ts'

describe.each(oneDialect)('on %s', (dialect) => {
  const free = () => undefined
  const debits: number[] = []
  const address = (_: string, cost = 1) => void debits.push(cost)
  const api = useApi(dialect, { limits: { byAddress: { address, files: free, wallets: free, health: free } } })

  async function makeGroup(
    workspace: TestWorkspace,
    count: number,
    passType: 'eventTicket' | 'generic' = 'eventTicket',
  ) {
    const { id } = await publishedTemplate(workspace, { passType, definition: definition() })
    const passes = Array.from({ length: count }, (_, n) => ({
      ...passBody(id, { label: `Guest <${n + 1}>`, variables: { seat: `A-${n + 1}` } }),
      groupKey: `order-${id}`,
    }))
    const { results } = await workspace.ok(contract.passes.createBatch, { body: { passes } })
    const made = results.map(({ pass }) => pass!)
    return { made, path: new URL(made[0]!.hostedLinks.group!).pathname }
  }

  const open = (target: string, userAgent?: string) =>
    api.send('GET', target, { ...(userAgent && { headers: { 'user-agent': userAgent } }) })
  const hrefs = (html: string) =>
    [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href!.replaceAll('&#38;', '&'))
  const targets = (html: string, name: string) =>
    hrefs(html).flatMap((href) => {
      const { pathname, search, searchParams } = new URL(href, 'https://passes.example')
      return searchParams.has(name) ? [pathname + search] : []
    })

  /** Returns the serial number of each package in a bundle, after unzip and openssl checked it. */
  async function serialNumbers(bundle: Buffer): Promise<string[]> {
    const folder = await unpack(bundle)
    const { applePems } = sandboxIdentities()
    return Promise.all(
      readdirSync(folder).map(async (name) => {
        const inner = await unpack(readFileSync(join(folder, name)))
        expect((await verifySignature(inner, applePems.rootPem)).exitCode).toBe(0)
        const json = JSON.parse(readFileSync(join(inner, 'pass.json'), 'utf8'))
        expect(json.groupingIdentifier).toMatch(/^[0-9a-f-]{36}$/)
        return json.serialNumber as string
      }),
    )
  }

  test('a bundle counts against the address as a request for each of its packages', async () => {
    const { path } = await makeGroup(await api.workspace(), 4)
    const [bundle] = targets((await open(path)).text, 'bundle')
    debits.length = 0
    expect((await open(bundle!)).status).toBe(200)
    expect(debits).toEqual([1, 3])
  })

  test('a group of 11 is two valid bundles, without a pass that left the group', async () => {
    const workspace = await api.workspace()
    const { made, path } = await makeGroup(workspace, 11)
    const page = await open(path)
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(page.text).toContain('Guest &#60;11&#62;')
    expect(page.text).toContain('<span class="fact">Seat A-11</span>')
    const bundles = targets(page.text, 'bundle')
    expect(bundles).toHaveLength(2)
    // The passes were queued for issuing, and are issued now.
    const [first, second] = [await open(bundles[0]!), await open(bundles[1]!)]
    expect(first.headers.get('content-type')).toBe('application/vnd.apple.pkpasses')
    const ids = made.map(({ id }) => id)
    expect((await serialNumbers(first.bytes)).toSorted()).toEqual(ids.slice(0, 10))
    expect(await serialNumbers(second.bytes)).toEqual(ids.slice(10))

    // Between the request of the page and the tap, one pass leaves the group and another is voided. The bundles still
    // contain the next passes.
    const { update, void: makeVoid, revokeLinks } = contract.passes
    await workspace.ok(update, { params: { id: ids[0]! }, body: { groupKey: null } })
    await workspace.ok(makeVoid, { params: { id: ids[10]! } })
    expect((await serialNumbers((await open(bundles[0]!)).bytes)).toSorted()).toEqual(ids.slice(1, 10))
    expect((await open(bundles[1]!)).status).toBe(410)
    await workspace.ok(revokeLinks, { params: { id: ids[4]! } })
    for (const target of [path, bundles[0]!]) expect((await open(target)).status).toBe(410)
  })

  test('offers smaller bundles, with each pass in one, if ten packages exceed the size of a file', async () => {
    const workspace = await api.workspace()
    const { made, path } = await makeGroup(workspace, 6)
    const packages = api.services.packages!
    const { bundle } = packages
    // The packages are so large that only four fit into one bundle.
    const full = vi.spyOn(packages, 'bundle')
    const left = vi.fn()
    full.mockImplementation(async (passes, at) => ({ ...(await bundle(passes.slice(0, 4), at)), leave: left }))
    const [whole] = targets((await open(path)).text, 'bundle')
    const { status, headers } = await open(whole!)
    expect(status).toBe(302)
    const { pathname, search } = new URL(headers.get('location')!)
    expect([pathname, search]).toEqual([path, `?from=${made[0]!.id}&each=4`])
    const smaller = targets((await open(pathname + search)).text, 'bundle')
    const found: string[] = []
    for (const target of smaller) found.push(...(await serialNumbers((await open(target)).bytes)))
    expect([smaller.length, found.toSorted()]).toEqual([2, made.map(({ id }) => id)])
    // The request no longer counts, regardless of whether the response was sent.
    await eventually(() => expect(left).toHaveBeenCalledTimes(full.mock.calls.length))
    full.mockRestore()
    // The following pages do too.
    const large = await makeGroup(workspace, 21)
    const { text } = await open(`${large.path}?each=4`)
    expect(targets(text, 'bundle')).toHaveLength(5)
    expect(targets(text, 'from')).toEqual([`${large.path}?from=${large.made[20]!.id}&each=4`])
    for (const each of ['0', '11', '1.5', 'x', '']) expect((await open(`${path}?each=${each}`)).status).toBe(404)
  })

  test('save links hold as many passes as fit, each pass in one, and Google stacks them', async () => {
    const workspace = await api.workspace()
    const { made, path } = await makeGroup(workspace, 6)
    const saves = targets((await open(path)).text, 'save')
    const objects: string[] = []
    for (const target of saves) {
      const answer = await open(target)
      const location = answer.headers.get('location')!
      expect([answer.status, location.split('/save/')[1]!.length <= 1_800]).toEqual([302, true])
      const claims = JSON.parse(Buffer.from(location.split('.')[3]!, 'base64url').toString())
      objects.push(...claims.payload.eventTicketObjects.map(({ id }: { id: string }) => id.split('.')[1]))
    }
    expect(saves.length).toBeLessThanOrEqual(2)
    expect(objects).toEqual(made.map(({ id }) => `${id}-eventTicket`))
    const { google } = sandboxIdentities()
    const shown = () =>
      Promise.all(
        made.map(({ id }) => api.services.google!.api.getObject('eventTicket', `${google.issuerId}.${id}-eventTicket`)),
      )
    const [groupingInfo, ...others] = (await shown()).map((object) => JSON.stringify(object.groupingInfo))
    expect(groupingInfo).toContain('groupingId')
    expect(new Set(others)).toEqual(new Set([groupingInfo]))
    await workspace.ok(contract.passes.update, { params: { id: made[5]!.id }, body: { groupKey: null } })
    await api.runJobs()
    expect((await shown())[5]).not.toHaveProperty('groupingInfo.groupingId')
  })

  test('shows a large group in pages, each pass once, and no names to chat previews', async () => {
    const workspace = await api.workspace()
    const { made, path } = await makeGroup(workspace, 45, 'generic')
    const found: string[] = []
    for (let target: string | undefined = path; target; [target] = targets((await open(target)).text, 'from')) {
      found.push(...[...(await open(target)).text.matchAll(/Guest &#60;(\d+)/g)].map(([, n]) => n!))
    }
    expect(found).toEqual(made.map((_, n) => String(n + 1)))
    const shared = await open(path, 'WhatsApp/2.23.20.0 A')
    expect([shared.status, shared.text.includes('Guest')]).toEqual([200, false])
    for (const query of ['bundle=x', 'save=', 'from=../x']) expect((await open(`${path}?${query}`)).status).toBe(404)
    const elsewhere = (await makeGroup(await api.workspace(), 1)).made[0] as Pass
    expect((await open(`${path}?bundle=${elsewhere.id}`)).status).toBe(410)
  })
})

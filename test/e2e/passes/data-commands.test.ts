import { describe, expect, test } from 'vitest'
import { dialects, emptyDatabase } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { inspect, issuedPass } from '../support/passes.ts'
import { run } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

const HOLDER = 'Grace qx7wvzkj'

describe.each(dialects)('on %s', (dialect) => {
  test('logs the actions of operators and tokens, without typed values', async () => {
    const server = await hostServer({ dialect })
    const onDatabase = ['--database', server.database]
    expect((await run(['workspace', 'create', '--name', 'acme', ...onDatabase])).exitCode).toBe(0)
    const made = await run(['token', 'create', '--name', 'ci', '--workspace', 'acme', '--json', ...onDatabase])
    const token = JSON.parse(String(made.stdout))
    expect((await run(['token', 'revoke', token.id, '--workspace', 'acme', '--yes', ...onDatabase])).exitCode).toBe(0)
    const actions = async (...args: string[]) => {
      const listed = await run(['audit', 'list', ...args, '--json', ...onDatabase])
      expect(listed.exitCode, String(listed.stderr)).toBe(0)
      return JSON.parse(String(listed.stdout)).items.map((entry: { action: string }) => entry.action)
    }
    // Run the processes in parallel to save time.
    const [ofWorkspace, byOperator, ofToken, early] = await Promise.all([
      actions('--workspace', 'acme'),
      actions('--actor', 'operator', '--action', 'token', '--from', '1h'),
      actions('--target', token.id),
      actions('--to', '1h'),
    ])
    expect(ofWorkspace).toEqual(['token.revoke', 'token.create', 'workspace.create'])
    expect(byOperator).toEqual(['token.revoke', 'token.create', 'token.create'])
    expect(ofToken).toEqual(['token.revoke', 'token.create'])
    expect(early).toEqual([])
    const formerly = await run(['audit', 'list', '--until', '1h', '--json', ...onDatabase])
    expect(JSON.parse(String(formerly.stdout)).items).toEqual([])
    expect(String(formerly.stderr)).toContain('Warning: The "--until" flag has been deprecated. Use "--to" instead.')

    const [whole, first] = await Promise.all([
      run(['audit', 'list', '--all', '--csv', ...onDatabase]),
      run(['audit', 'list', '--limit', '2', ...onDatabase]),
    ])
    const csv = String(whole.stdout)
    expect(csv.split('\n')[0]).toBe(
      'id,at,workspaceId,tokenId,actor,action,targetKind,targetId,targetCount,correlationId',
    )
    expect(csv).toContain(': passes token create')
    expect(csv).not.toContain(token.token)
    expect([String(first.stdout).split('\n')[0], String(first.stderr)]).toEqual([
      expect.stringMatching(/^AT +ACTOR +ACTION +TARGET +CORRELATION ID$/),
      expect.stringContaining('2 of 5 shown'),
    ])
  })

  test('erases a holder while the server runs, after a preview', async () => {
    const server = await hostServer({ dialect })
    const { client, database } = server
    const { id, templateId } = await issuedPass(client)
    const body = { externalPassId: HOLDER, label: HOLDER, templateId: templateId!, variables: { name: HOLDER } }
    const pass = await client.passes.create({ body })
    await client.scans.create({ body: { passId: pass.id, context: { note: HOLDER } } })
    const erase = (...args: string[]) => run(['pass', 'erase', ...args, '--json', '--database', database])

    const dry = await erase(HOLDER, '--external', '--dry-run')
    expect(JSON.parse(String(dry.stdout))).toMatchObject({
      id: pass.id,
      dryRun: true,
      erased: { variables: 1, scans: 1 },
    })
    expect((await client.passes.get({ params: { id: pass.id } })).label).toBe(HOLDER)
    const unasked = await erase(pass.id)
    expect([unasked.exitCode, String(unasked.stdout)]).toEqual([
      2,
      expect.stringContaining('Cannot ask: prompts are disabled'),
    ])
    expect((await erase('nobody', '--external', '--yes')).exitCode).toBe(1)

    const done = await erase(pass.id, '--yes')
    expect(done.exitCode, String(done.stderr)).toBe(0)
    expect(JSON.parse(String(done.stdout))).toMatchObject({ id: pass.id, voided: true })
    const after = await client.passes.get({ params: { id: pass.id } })
    expect(after).toMatchObject({ status: 'VOID', label: 'Erased', variables: {}, hostedLinks: { smart: null } })
    const link = await fetch(`${server.url}${new URL(pass.hostedLinks.smart!).pathname}`)
    expect(link.status).toBe(410)
    const { rows } = inspect(database)
    await eventually(async () => {
      for (const table of ['passes', 'events', 'scans', 'pass_variables', 'jobs', 'audit_entries']) {
        expect(JSON.stringify(await rows(table)).toLowerCase(), table).not.toContain('qx7wvzkj')
      }
    })
    expect((await client.passes.get({ params: { id } })).label).toBe('Ada')
    expect(server.stderr().toLowerCase()).not.toContain('qx7wvzkj')
  })
})

test('reports a filter that can match nothing', async () => {
  const database = ['--database', await emptyDatabase('sqlite')]
  await run(['migrate', ...database])
  const wrong: [args: string[], exitCode: number][] = [
    [['--action', 'pass.fly'], 1],
    [['--from', 'yesterday'], 2],
    [['--workspace', 'nobody'], 1],
    [['--target', 'no id'], 1],
  ]
  const results = await Promise.all(wrong.map(([args]) => run(['audit', 'list', ...args, ...database])))
  expect(results.map(({ exitCode }) => exitCode)).toEqual(wrong.map(([, exitCode]) => exitCode))
})

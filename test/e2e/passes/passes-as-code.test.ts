import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { run } from '../support/program.ts'
import { openTerminal } from '../support/pty.ts'
import { sharedServer } from '../support/server.ts'

const shared = sharedServer()
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

test('reaches a live scan from an empty folder on a terminal, without typing an ID', async () => {
  const server = await shared()
  const { client } = server
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'templates'))
  const path = join(folder, 'templates/ticket.json')
  const guests = (...rows: string[]) =>
    writeFileSync(join(folder, 'guests.csv'), ['id,label,gate', ...rows, ''].join('\n'))
  const typed: string[] = []
  const terminal = (...args: string[]) => {
    typed.push(...args)
    const env = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder }
    return openTerminal(args, server, { columns: 200, rows: 100, cwd: folder, env })
  }
  const answer = async (shown: ReturnType<typeof terminal>, question: string, text: string) => {
    await shown.shows(question)
    shown.type(text)
  }
  const ticket = ['template', 'push', 'templates/ticket.json', '--publish']

  const init = terminal('template', 'init', 'templates/ticket.json')
  await answer(init, 'Which kind?', 'event')
  await answer(init, '❯ event-ticket', '\r')
  await answer(init, 'Name, such as', 'Day ticket\r')
  await answer(init, 'Organization', 'Fair\r')
  expect(await init.ended).toBe(0)

  const file = JSON.parse(readFileSync(path, 'utf8'))
  file.definition.variables = [{ name: 'gate', label: 'Gate', required: true }]
  file.definition.design.fields = { primary: [{ key: 'gate', label: 'GATE', value: '{{gate}}' }] }
  delete file.definition.event
  delete file.definition.google
  writeFileSync(path, JSON.stringify(file, undefined, 2))
  guests('T-1,Ada,A', 'T-2,Ben,A')

  const dev = terminal('template', 'dev', 'templates/ticket.json', '--rows', 'guests.csv')
  await dev.shows('Press Ctrl-C to stop.')
  const [, url] = /at (http:\S+)/.exec(dev.screen.text())!
  expect(await (await fetch(url!)).text()).toContain('ticket.json')
  dev.type('\u0003')
  expect(await dev.ended).toBe(130)

  expect(await run(['template', 'lint', path])).toMatchObject({ exitCode: 0 })

  const declined = terminal(...ticket)
  await declined.shows('+ name: "Day ticket"')
  await answer(declined, 'Publish Day ticket (templates/ticket.json)? [y/N]', 'n\r')
  expect(await declined.ended).toBe(1)
  expect((await client.templates.list()).total).toBe(0)
  const push = terminal(...ticket)
  await answer(push, 'Publish Day ticket (templates/ticket.json)? [y/N]', 'y\r')
  expect(await push.ended).toBe(0)
  expect((await client.templates.list()).items).toMatchObject([{ key: 'day-ticket', latestPublishedVersion: 1 }])

  await client.templates.create({ body: { name: 'Old', key: 'old', passType: 'coupon' } })
  const apply = terminal('apply', '.', '--prune')
  await apply.shows('- delete template old')
  await answer(apply, 'Delete the template old? [y/N]', 'y\r')
  expect(await apply.ended).toBe(0)
  expect((await client.templates.list()).items).toMatchObject([{ key: 'day-ticket' }])

  const columns = ['--external-id-column', 'id', '--existing', 'update']
  const issue = terminal('issue', 'guests.csv', ...columns)
  await answer(issue, 'Which template?', '\r')
  await answer(issue, 'About to create 2. Continue? [y/N]', 'y\r')
  expect(await issue.ended).toBe(0)

  guests('T-1,Ada,B', 'T-2,Ben,A', 'T-3,Cleo,B')
  const update = terminal('issue', 'guests.csv', '--template', 'day-ticket', ...columns)
  await answer(update, 'About to create 1 and update 1. Continue? [y/N]', 'y\r')
  expect(await update.ended).toBe(0)
  const { items } = await client.passes.list({ query: { sortBy: 'externalPassId', sortDir: 'asc' } })
  expect(items.map(({ externalPassId, variables }) => [externalPassId, variables.gate])).toEqual([
    ['T-1', 'B'],
    ['T-2', 'A'],
    ['T-3', 'B'],
  ])

  const scans = terminal('scans', 'list', '--follow')
  const listen = terminal('webhook', 'listen', '--events', 'pass.scanned')
  await scans.shows('Waiting for new rows')
  await listen.shows('Listening for events of')
  await eventually(async () => expect((await client.passes.list({ query: { status: ['ISSUED'] } })).total).toBe(3))
  await client.scans.create({ body: { passId: items[2]!.id, deviceId: 'gate-b' } })
  await scans.shows('Cleo')
  await listen.shows('pass.scanned')
  for (const followed of [scans, listen]) {
    followed.type('\u0003')
    expect(await followed.ended).toBe(130)
    expect(followed.screen.text()).not.toMatch(/Error|^ +at /m)
    expect(followed.screen.raw).toMatch(/\n$/)
  }
  expect(typed.join(' ')).not.toMatch(uuid)
})

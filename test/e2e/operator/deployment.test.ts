import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { serveFlags } from '../../../src/cli/settings/server-flags.ts'
import { readCompose, servicesOf } from '../../support/compose.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { hostServer } from '../support/server.ts'

/**
 * Checks without Docker that the image, the compose file, and the program fit together. The fleet tests run the same
 * commands.
 */

const root = join(import.meta.dirname, '../../..')
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const dockerfile = read('Dockerfile').replaceAll(/\\\n\s*/g, '')
const { services, volumes } = readCompose()
const ours = Object.entries(services).filter(([, { build }]) => build !== undefined)
const flags = Object.entries(serveFlags).map(([name, { env }]) => ({ name: `--${name}`, env }))

test('two servers respond and two run jobs, with known flags and variables', () => {
  expect([servicesOf('api').length, servicesOf('worker').length]).toEqual([2, 2])
  for (const [name, { command = [], environment = {} }] of ours) {
    const given = command.filter((part) => part.startsWith('--'))
    expect(
      given.filter((flag) => !flags.some((known) => known.name === flag)),
      name,
    ).toEqual([])
    const variables = Object.keys(environment)
    expect(
      variables.filter((variable) => !flags.some(({ env }) => env === variable)),
      name,
    ).toEqual([])
  }
})

test('every server waits for the migration, and every stop waits for in-flight work', () => {
  for (const [name, { depends_on, stop_grace_period, command }] of ours) {
    const [waitsFor] = Object.keys(depends_on ?? {})
    expect(waitsFor, name).toBe(command?.[0] === 'migrate' ? 'postgres' : 'migrate')
    expect(Number.parseInt(stop_grace_period!, 10), name).toBeGreaterThan(20)
  }
})

test('every service has a limit of memory and of processes', () => {
  for (const [name, { mem_limit, pids_limit }] of Object.entries(services)) {
    expect([mem_limit, pids_limit], name).toEqual([expect.stringMatching(/^\d+[mg]$/), expect.any(Number)])
  }
})

test('files that services mount and services that they wait for exist', () => {
  for (const [name, { depends_on = {}, volumes: mounts = [] }] of Object.entries(services)) {
    expect(Object.keys(services), name).toEqual(expect.arrayContaining(Object.keys(depends_on)))
    for (const source of mounts.map((mount) => mount.split(':')[0]!)) {
      if (source.startsWith('./')) expect(source === './secrets' || existsSync(join(root, source)), source).toBe(true)
      else expect(Object.keys(volumes)).toContain(source)
    }
  }
})

test('the proxy lists the web servers, and probes /readyz more often than a drain lasts', () => {
  const proxy = read('deploy/haproxy.cfg')
  const named = [...proxy.matchAll(/^ {2}server (\S+) (\S+):3000$/gm)].map(([, name, host]) => [name, host])
  expect(named).toEqual(servicesOf('api').map(([name]) => [name, name]))
  expect(proxy).toContain('option httpchk GET /readyz')
  const [, interval] = /inter (\d+)ms fall 1 /.exec(proxy)!
  for (const [, { command = [] }] of servicesOf('api')) {
    const drainSeconds = Number(command[command.indexOf('--drain-seconds') + 1])
    expect(drainSeconds * 1000).toBeGreaterThanOrEqual(2 * Number(interval))
  }
})

test('the image is built from files in the repository, and runs as an unprivileged user', () => {
  const stages = dockerfile.split(/^FROM /m)
  const images = stages.slice(1).map((stage) => stage.split(/\s/)[0]!)
  for (const image of [...images, ...Object.values(services).map((service) => service.image)]) {
    expect(image, 'names a registry').not.toContain('/')
  }
  expect(stages.at(-1)).toMatch(/^USER node$/m)
  expect(stages.at(-1)).not.toMatch(/npm/)
  const allowed = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path]) => path!)
  const copied = [...dockerfile.matchAll(/^COPY (?!--)(.+)$/gm)].flatMap(([, paths]) => paths!.split(' ').slice(0, -1))
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([])
  expect(copied.sort()).toEqual(allowed.sort())
})

test('the image copies every file that the program needs', async () => {
  const folder = temporaryFolder()
  for (const [, paths] of dockerfile.matchAll(/^COPY --from=build (.+)$/gm)) {
    const [target, ...sources] = paths!.split(' ').reverse()
    for (const source of sources.map((path) => path.replace('/app/', ''))) {
      const to = target === './' ? join(folder, source) : join(folder, target!)
      mkdirSync(dirname(to), { recursive: true })
      if (source === 'node_modules') symlinkSync(join(root, source), to)
      else cpSync(join(root, source), to, { recursive: true })
    }
  }
  const { stdout } = await execa('node', [join(folder, 'bin/run.js'), 'migrate', '--json'], { cwd: folder })
  expect(JSON.parse(stdout).applied).toContain('0001-baseline')
})

test('the health check of the image passes for a running server and fails without one', async () => {
  const [command, ...args] = JSON.parse(/^HEALTHCHECK .*CMD (\[.*\])$/m.exec(dockerfile)![1]!) as string[]
  const server = await hostServer()
  const check = () => execa(command!, args, { env: { PASSES_PORT: new URL(server.url).port }, reject: false })
  expect((await check()).exitCode).toBe(0)
  await server.stop()
  expect((await check()).exitCode).toBe(1)
})

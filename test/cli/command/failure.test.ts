import { Command, Flags } from '@oclif/core'
import { describe, expect, test } from 'vitest'
import { pastFlag } from '../../../src/cli/arguments/list-flags.ts'
import { idOf } from '../../../src/cli/arguments/named.ts'
import { CliError, InterruptedError } from '../../../src/cli/command/cli-error.ts'
import { describeFailure, formatFailure } from '../../../src/cli/command/failure.ts'
import { ApiError, ForeignServerError, TimeoutError } from '../../../src/client/client-errors.ts'

const request = { method: 'GET', path: '/v1/passes' }
const refused = { status: 400, code: 'VALIDATION_ERROR', correlationId: 'c-1', request }
const show = (error: unknown, flags: string[] = []) =>
  formatFailure(describeFailure(error, { flags }), { color: false })

describe('wrong arguments of a command', () => {
  class Example extends Command {
    static override flags = {
      all: Flags.boolean({ exclusive: ['secret'] }),
      limit: Flags.integer(),
      secret: Flags.string(),
      status: Flags.string(),
      template: Flags.string({ parse: idOf('template') }),
      since: pastFlag(''),
    }
    async run() {
      return await this.parse(Example)
    }
  }
  const shown = async (...args: string[]) => {
    const error: unknown = await Example.run(args, { root: import.meta.dirname }).catch((thrown) => thrown)
    expect(describeFailure(error).exitCode).toBe(2)
    return show(error, Object.keys(Example.flags))
  }

  test.each([
    [
      ['--stauts', 'x'],
      ['Error: Nonexistent flag: --stauts', 'Next: did you mean --status?'],
    ],
    [
      ['--limit', 'x'],
      ['Error: --limit: Expected an integer but received: x', 'Next: add --help for its usage'],
    ],
    [['--template', 'x'], ['Error: --template: x is not the ID of a template']],
    [
      ['--since', 'x'],
      ['Error: --since: x is not a time', 'Next: give an ISO 8601 date-time'],
    ],
    [
      ['--all', '--secret', 'psk_1 2'],
      ['Error: --secret cannot also be provided when using --all', 'Next: add --help'],
    ],
  ])('describes %j in a few lines without the values of other flags', async (args, expected) => {
    const lines = (await shown(...args)).split('\n').map((line) => line.trim())
    expect(lines).toEqual(expected.map((line) => expect.stringContaining(line)))
    expect(lines.join()).not.toMatch(/psk_1|See more help|following error/)
  })
})

test('the error response of another service names the address', () => {
  const message = 'The server responded with 404, but the body does not match the API'
  const foreign = { status: 404, code: 'INTERNAL_ERROR', correlationId: '', details: {}, request }
  expect(show(new ApiError({ ...foreign, message }))).toMatch(
    /Next: check that --url \(PASSES_URL\) is the address of a passes server/,
  )
})

test('the error of a proxy that rejects a large body names the limit of the proxy', () => {
  const message = 'The server responded with 413, but the body does not match the API'
  const large = { status: 413, code: 'INTERNAL_ERROR', correlationId: '', details: {}, request, message }
  expect(show(new ApiError(large))).toContain('client_max_body_size 8m')
  expect(show(new ApiError({ ...large, code: 'INVALID_INPUT' }))).not.toContain('proxy')
})

test('an error about a parameter is shown once, for the flag that it came from', () => {
  const issue = (path: (string | number)[]) => ({ path, message: 'Must be a date' })
  const error = (...issues: ReturnType<typeof issue>[]) =>
    new ApiError({ ...refused, message: `${issues[0]!.path.join('.')}: Must be a date`, details: { issues } })
  const flags = ['created-from', 'template']
  const failure = (path: (string | number)[]) => describeFailure(error(issue(path)), { flags })
  expect(failure(['createdFrom', 0])).toMatchObject({
    message: '--created-from: Must be a date',
    reasons: ['The server responded to GET /v1/passes with 400 VALIDATION_ERROR.'],
  })
  expect(failure(['templateId']).message).toBe('--template: Must be a date')
  expect(failure(['variables', 'seat']).message).toBe('variables.seat: Must be a date')
})

test('an error about a filter names --where if the command line has this filter', () => {
  const flags = ['where', 'variable', 'header']
  const message = (method: string, path: (string | number)[], ...argv: string[]) => {
    const details = { issues: [{ path, message: 'Must be name:value' }] }
    const error = new ApiError({ ...refused, request: { method, path: '/v1' }, message: 'Invalid request', details })
    return describeFailure(error, { flags, argv }).reasons.at(-1)
  }
  const named = '--where variable=…: Must be name:value'
  expect(message('POST', ['filter', 'variable', 0], '--where', 'variable=tier')).toBe(named)
  expect(message('GET', ['variable', 1], '--where=variable=tier')).toBe(named)
  expect(message('GET', ['variable'], '--variable', 'tier')).toBe('--variable: Must be name:value')
  expect(message('POST', ['body'], '--message', 'body=1')).toBe('body: Must be name:value')
})

test('an error about a whole file shows the place where it starts', () => {
  const issues = [{ path: [], message: 'Must be an object', line: 1, column: 1 }]
  const error = new CliError('de.json is not a file of strings', { code: 'VALIDATION_ERROR', details: { issues } })
  expect(describeFailure(error).reasons).toEqual(['1:1: Must be an object'])
})

test('identifies errors of other services, and mentions a correlation ID only if there is one', () => {
  expect(show(new ForeignServerError('http://elsewhere'))).toContain('http://elsewhere is not a passes server')
  const failed = { ...refused, status: 502, code: 'INTERNAL_ERROR', message: 'No', details: {} }
  expect(show(new ApiError(failed))).toContain('give the correlation ID')
  expect(show(new ApiError({ ...failed, correlationId: '' }))).not.toContain('correlation ID')
})

test('a timeout error names the server and the request, with advice', () => {
  const silent = (method: string) => {
    const facts = { timeoutSeconds: 30, request: { method, path: '/v1/passes' } }
    return show(new TimeoutError('http://silent', new Error('Headers Timeout Error'), facts))
  }
  expect(silent('GET')).toContain('http://silent did not respond to GET /v1/passes within 30 s')
  expect(silent('GET')).toContain('Next: try again; to wait longer, use --timeout SECONDS (PASSES_TIMEOUT)')
  expect(silent('POST')).toContain('Next: check whether the request had an effect, then try again')
})

test.each([
  [{ code: 'ENOENT', path: 'a.csv' }, 'a.csv does not exist'],
  [{ code: 'EISDIR' }, 'A path is a folder, but a file is required'],
  [{ code: 'EACCES', path: 'a.csv' }, 'This user has no permission to read or write a.csv'],
  [{ code: 'ECONNRESET' }, 'as the system says it'],
])('describes the system error %j in words', (facts, message) => {
  const error = Object.assign(new Error('as the system says it'), { syscall: 'open', ...facts })
  expect(describeFailure(error)).toMatchObject({ code: facts.code, message, exitCode: 1 })
})

test('a full disk names the file, and what to do', () => {
  const facts = { syscall: 'write', code: 'ENOSPC', path: 'g.csv.journal' }
  expect(show(Object.assign(new Error('ENOSPC'), facts)).split('\n')).toEqual([
    'Error: g.csv.journal cannot be written: no space is left',
    '  Next: free space on that disk, then run the command again.',
  ])
})

test('Ctrl-C does not print an error', () => {
  expect(show(new InterruptedError('Stopped.'))).toBe('Stopped.')
})

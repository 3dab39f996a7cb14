import { expect, test } from 'vitest'
import { databasePasswordsIn } from '../../../src/cli/command/base-command.ts'
import { mistypedVariables, parseOrigins, parsePublicUrl } from '../../../src/cli/settings/server-flags.ts'

test.each([
  [['--database', 'postgres://passes:secret@db/passes'], ['database']],
  [['--database=postgresql://passes:secret@db/passes'], ['database']],
  [['--database', 'postgres://db/passes?sslmode=require&password=secret'], ['database']],
  [
    ['--from=postgres://passes:secret@db/passes', '--to', 'postgres://passes:secret@db/other'],
    ['from', 'to'],
  ],
  [['--database', 'postgres://passes@db/passes'], []],
  [['--database', 'postgres://passes:@db/passes'], []],
  [['--database', 'postgres://db:5432/passes'], []],
  [['--database', 'sqlite:./a:b@c.db'], []],
  [['--database'], []],
  [['--name', 'postgres://passes:secret@db/passes'], []],
])('detects a database password in the arguments: %j %j', (argv, expected) => {
  expect(databasePasswordsIn(argv)).toEqual(expected)
})

test('accepts an http or https public URL, with or without a path', () => {
  expect(parsePublicUrl(new URL('https://passes.example.com'))).toBe('https://passes.example.com/')
  expect(parsePublicUrl(new URL('http://127.0.0.1:3000/passes?'))).toBe('http://127.0.0.1:3000/passes')
  expect(parsePublicUrl(undefined)).toBeUndefined()
})

test.each([
  'ftp://passes.example.com',
  'file:///srv/passes',
  'https://passes:secret@passes.example.com',
  'https://passes.example.com/?from=wallet',
  'https://passes.example.com/#top',
])('rejects the public URL %s without quoting its password', (text) => {
  expect(() => parsePublicUrl(new URL(text))).toThrow(/^--public-url must begin with https:(?!.*secret)/)
})

test('accepts exact origins, each once', () => {
  const given = [
    'https://app.example.com, http://localhost:5173',
    'https://app.example.com',
    'https://app.example:8443',
  ]
  expect(parseOrigins(given)).toEqual(['https://app.example.com', 'http://localhost:5173', 'https://app.example:8443'])
  expect(parseOrigins([])).toEqual([])
  // A variable is one text.
  expect(parseOrigins('https://a.example, https://b.example')).toEqual(['https://a.example', 'https://b.example'])
})

test.each([
  '*',
  'null',
  '',
  'app.example.com',
  'https://*.example.com',
  'https://app.example.com/',
  'https://app.example.com/page',
  'https://APP.example.com',
  'https://app.example.com:443',
  'https://user:secret@app.example.com',
  'file://',
  'chrome-extension://abcdef',
])('rejects %j as an origin', (text) => {
  expect(() => parseOrigins([text])).toThrow(/^--cors-origin must be the scheme, host, and port(?!.*secret)/)
})

test('warns about a variable that resembles a setting, not about settings and other variables', () => {
  expect(mistypedVariables(['PASSES_PUBLICURL', 'PASSES_RATE_LIMITS'])).toEqual([
    'Warning: PASSES_PUBLICURL is not a setting; did you mean PASSES_PUBLIC_URL?',
    'Warning: PASSES_RATE_LIMITS is not a setting; did you mean PASSES_RATE_LIMIT?',
  ])
  const others = ['URL', 'TOKEN', 'PROFILE', 'TIMEOUT', 'WEBHOOK_SECRET', 'COPY_TO', 'TEST_DATABASES']
  // Kubernetes sets these variables for a service with the name `passes`.
  const ofServices = ['SERVICE_HOST', 'SERVICE_PORT', 'PORT_3000_TCP', 'PORT_3000_TCP_ADDR']
  const known = ['PUBLIC_URL', 'HOST', 'PORT', ...others, ...ofServices].map((name) => `PASSES_${name}`)
  expect(mistypedVariables(known)).toEqual([])
})

import { expect, test } from 'vitest'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { renderCard } from '../../../../src/core/rules/display/card.ts'
import { compilePass } from '../../../../src/core/rules/pass/pass-rules.ts'
import { checkDefinition } from '../../../../src/core/rules/template/definition.ts'
import { compileLinks, isSafeLink } from '../../../../src/core/rules/template/link-schemes.ts'
import { parseDefinition } from '../../../support/definitions.ts'

test.each([
  'https://example.com/a?b=javascript:c',
  'http://example.com',
  'HTTPS://EXAMPLE.COM',
  'tel:+4930123456',
  'mailto:ada@example.com',
  'sms:+4930123456',
  'geo:53.55,9.99',
  'www.example.com/terms',
  '/relative:path',
  '',
])('a link to %s is safe', (url) => {
  expect(isSafeLink(url)).toBe(true)
})

test.each([
  'javascript:alert(1)',
  'JavaScript:alert(1)',
  ' javascript:alert(1)',
  'java\tscript:alert(1)',
  '\u0000javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:msgbox(1)',
  'file:///etc/passwd',
  'blob:https://example.com/1',
  'com.example.app://open',
])('a link to %j is not safe', (url) => {
  expect(isSafeLink(url)).toBe(false)
})

const MUST = 'start with https:, http:, tel:, mailto:, sms:, geo:'

const withLink = (url: string, variable: object = {}): DefinitionInput => ({
  variables: [{ name: 'site', label: 'Site', ...variable }],
  design: { organizationName: 'Hall', description: 'Ticket', links: [{ label: 'More', url }] },
})

test.each([
  ['javascript:alert(1)', {}],
  ['www.example.com/terms', {}],
  ['javascript:{{site}}', {}],
  ['{{site}}', { default: 'data:text/html,x' }],
  ['{{site}}', { example: 'file:///etc/passwd' }],
])('a definition with the link %s, %j is rejected', (url, variable) => {
  const issues = checkDefinition(parseDefinition(withLink(url, variable)))
  expect(issues).toEqual([{ path: ['design', 'links', 0, 'url'], message: `Must ${MUST}` }])
})

const withOverrides = (overrides: object): DefinitionInput => ({ ...withLink('https://example.com'), ...overrides })
const APP = 'Must not start with javascript:, data:, file:, vbscript:, blob:, about:'

test.each<[object, (string | number)[], string]>([
  [
    { google: { object: { linksModuleData: { uris: [{ uri: 'javascript:alert(1)' }] } } } },
    ['google', 'object', 'linksModuleData', 'uris', 0, 'uri'],
    `Must ${MUST}`,
  ],
  [
    { google: { class: { homepageUri: { uri: 'data:text/html,x' } } } },
    ['google', 'class', 'homepageUri', 'uri'],
    `Must ${MUST}`,
  ],
  [{ apple: { semantics: {}, sellURL: 'file:///etc/passwd' } }, ['apple', 'sellURL'], `Must ${MUST}`],
  [{ apple: { appLaunchURL: ' JavaScript:alert(1)' } }, ['apple', 'appLaunchURL'], APP],
  [
    { google: { object: { appLinkData: { webAppLinkInfo: { appTarget: { targetUri: { uri: 'data:x' } } } } } } },
    ['google', 'object', 'appLinkData', 'webAppLinkInfo', 'appTarget', 'targetUri', 'uri'],
    APP,
  ],
  ...[
    "<a href='javascript:a()'>x</a>",
    '<a HREF = "data:x">',
    '<a href=file:///x>',
    '<a href="java&#115;cript:a()">',
  ].map((attributedValue): [object, (string | number)[], string] => [
    { apple: { generic: { backFields: [{ key: 'k', value: 'v', attributedValue }] } } },
    ['apple', 'generic', 'backFields', 0, 'attributedValue'],
    `Must link only to addresses that ${MUST}`,
  ]),
])('a definition with the override %j is rejected', (overrides, path, message) => {
  expect(checkDefinition(parseDefinition(withOverrides(overrides)))).toEqual([{ path, message }])
})

test('overrides can link to pages and open apps', () => {
  const attributedValue = '<a href="https://example.com/?a=1&b=2">x</a> data: none'
  const overrides = {
    apple: {
      appLaunchURL: 'com.example.app://open',
      sellURL: 'https://example.com/sell',
      generic: { backFields: [{ key: 'k', value: 'javascript: is a scheme', attributedValue }] },
    },
    google: { object: { linksModuleData: { uris: [{ uri: 'tel:112', description: 'file: a report' }] } } },
  }
  expect(checkDefinition(parseDefinition(withOverrides(overrides)))).toEqual([])
})

test('a pass whose value makes a link of an override unsafe is rejected', () => {
  const google = { object: { linksModuleData: { uris: [{ uri: '{{site}}' }] } } }
  const check = compileLinks(parseDefinition(withOverrides({ google })))!
  expect(check(new Map([['site', 'https://example.com']]))).toEqual([])
  expect(check(new Map([['site', 'data:x']]))).toEqual([
    { path: ['variables', 'site'], message: `Results in a forbidden link: the link must ${MUST}` },
  ])
})

test('a pass whose value makes a link unsafe is rejected, with the path of the value', () => {
  const definition = parseDefinition(withLink('{{site}}/{{pass.id}}'))
  expect(checkDefinition(definition)).toEqual([])
  const checkPass = compilePass(definition)
  const check = (site: string) =>
    checkPass({
      id: '0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
      externalPassId: 'x',
      label: 'Ada',
      scanCode: 'code',
      templateName: 'Hall',
      projectName: null,
      variables: { site },
    })
  expect(check('https://example.com')).not.toHaveProperty('issues')
  expect(check('javascript:alert(1)')).toEqual({
    issues: [{ path: ['variables', 'site'], message: `Results in a forbidden link: the link must ${MUST}` }],
  })
})

test('a stored pass with an unsafe link renders without it', () => {
  const definition = parseDefinition(withLink('{{site}}'))
  const linksOf = (site: string) =>
    renderCard({
      passType: 'generic',
      definition,
      scope: new Map([['site', site]]),
      expiresAt: null,
      voided: false,
    }).links
  expect(linksOf('javascript:alert(1)')).toEqual([])
  expect(linksOf('tel:112')).toMatchObject([{ url: 'tel:112' }])
})

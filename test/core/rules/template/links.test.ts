import { expect, test } from 'vitest'
import type { DefinitionInput } from '../../../../src/core/contract/definition.ts'
import { renderCard } from '../../../../src/core/rules/display/card.ts'
import { compilePass } from '../../../../src/core/rules/pass/pass-rules.ts'
import { checkDefinition } from '../../../../src/core/rules/template/definition.ts'
import { isSafeLink } from '../../../../src/core/rules/template/links.ts'
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
  ['javascript:{{site}}', {}],
  ['{{site}}', { default: 'data:text/html,x' }],
  ['{{site}}', { example: 'file:///etc/passwd' }],
])('a definition with the link %s, %j is rejected', (url, variable) => {
  const issues = checkDefinition(parseDefinition(withLink(url, variable)))
  expect(issues).toEqual([{ path: ['design', 'links', 0, 'url'], message: `Must ${MUST}` }])
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
    issues: [{ path: ['variables', 'site'], message: `Makes a link that is not allowed: it must ${MUST}` }],
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

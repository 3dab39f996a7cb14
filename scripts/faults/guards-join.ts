import type { Fault } from './fault.ts'

/** Faults of join pages. */
export const joinGuards: Fault[] = [
  {
    name: 'join-limit',
    breaks: 'A page creates one pass more than its limit.',
    file: 'src/storage/join/join-pages-repository.ts',
    text: 'joined < pass_limit',
    replacement: 'joined <= pass_limit',
    tests: ['test/server/join/join-page.test.ts'],
  },
  {
    name: 'join-address-case',
    breaks: 'An address gets a second pass in another case.',
    file: 'src/core/rules/join/join-form.ts',
    text: 'address.trim().toLowerCase()',
    replacement: 'address.trim()',
    tests: ['test/core/rules/join/join-form.test.ts', 'test/server/join/join-identity.test.ts'],
  },
  {
    name: 'join-mail-interval',
    breaks: 'An address gets any number of emails within a minute.',
    file: 'src/storage/join/join-identities-repository.ts',
    text: 'const MAIL_INTERVAL_MS = 60_000',
    replacement: 'const MAIL_INTERVAL_MS = 0',
    tests: ['test/server/join/join-identity.test.ts'],
  },
  {
    name: 'join-revoked-form',
    breaks: 'A sent form shows new links of a pass after its links were revoked.',
    file: 'src/server/join/join-routes.ts',
    text: 'if (pass.linkGeneration > 0) throw',
    replacement: 'if (pass.linkGeneration > 9) throw',
    tests: ['test/server/join/join-page.test.ts'],
  },
  {
    name: 'join-form-age',
    breaks: 'A form never expires.',
    file: 'src/server/join/form-tokens.ts',
    text: 'if (age > MAX_AGE_MS) return undefined',
    replacement: '',
    tests: ['test/server/join/join-page.test.ts'],
  },
  {
    name: 'join-transfer',
    breaks: 'The address of a former holder keeps the pass of the new holder.',
    file: 'src/server/api/passes/update-pass.ts',
    text: 'if (pass.join) await tx.joinIdentities.deleteOfPass(workspaceId, id)',
    replacement: '',
    tests: ['test/server/join/join-identity.test.ts'],
  },
  {
    name: 'join-consent-version',
    breaks: 'A visitor who saw an earlier version of the consent consents to a later one.',
    file: 'src/server/join/join-routes.ts',
    text: "cleanValue(form.get(CONSENT_INPUT) ?? '') === cleanValue(consent.version)",
    replacement: 'form.has(CONSENT_INPUT)',
    tests: ['test/server/join/join-page.test.ts'],
  },
  {
    name: 'join-corrected-address',
    breaks: 'A visitor who goes back and corrects the address gets no email.',
    file: 'src/server/join/join-routes.ts',
    text: 'identity === undefined ? random : endForAddress(random, read.variables[identity]!)',
    replacement: 'random',
    tests: ['test/server/join/join-identity.test.ts'],
  },
]

import type { Fault } from './fault.ts'

const signIn: Fault['tests'] = ['test/server/people/sign-in.test.ts']
const roles: Fault['tests'] = ['test/server/people/route-roles.test.ts']

/** Faults of the sign-in, sessions, and roles of people. */
export const peopleGuards: Fault[] = [
  {
    name: 'session-without-csrf',
    breaks: 'Another site changes data with the session of a visitor.',
    file: 'src/server/http/mount.ts',
    text: '  requireCsrfToken(caller, event.req)\n',
    replacement: '',
    tests: signIn,
  },
  {
    name: 'unverified-email',
    breaks: 'A person signs in with the unverified address of a member.',
    file: 'src/server/people/sign-in.ts',
    text: '!(claims.emailVerified || config.trustsEmail)',
    replacement: '!(claims.emailVerified || config.trustsEmail || claims.email)',
    tests: signIn,
  },
  {
    name: 'kelvin-email',
    breaks: 'A person signs in with an address that only looks like the address of a member.',
    file: 'src/core/rules/people/email.ts',
    text: 'text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())',
    replacement: 'text.toLowerCase()',
    tests: signIn,
  },
  {
    name: 'session-kept-at-sign-in',
    breaks: 'The previous session of a browser stays valid after a sign-in.',
    file: 'src/server/people/sign-in.ts',
    text: 'formerSecret !== undefined && !isCommandLine',
    replacement: 'formerSecret !== undefined && isCommandLine',
    tests: signIn,
  },
  {
    name: 'idle-session',
    breaks: 'An idle session lasts for twelve hours.',
    file: 'src/server/http/middleware/sessions.ts',
    text: 'at >= session.expiresAt || at.getTime() >= idleEnd',
    replacement: 'at >= session.expiresAt',
    tests: signIn,
  },
  {
    name: 'unsigned-logout',
    breaks: 'An ID token works as a token of a back-channel logout.',
    file: 'src/server/people/provider.ts',
    text: '!isLogout || !isTyped || nonce !== undefined',
    replacement: '!isTyped',
    tests: signIn,
  },
  {
    name: 'id-token-unverified',
    breaks: 'A person signs in with an ID token that the provider did not sign.',
    file: 'src/server/people/provider.ts',
    text: '    enableNonRepudiationChecks(client)\n',
    replacement: '',
    tests: signIn,
  },
  {
    name: 'roles-add-projects',
    breaks: 'The role of a person in one project applies in the projects of their other roles.',
    file: 'src/core/rules/people/person-roles.ts',
    text: '{ ...sumOf(permitting),',
    replacement: '{ ...sumOf(grants),',
    tests: roles,
  },
  {
    name: 'reader-writes',
    breaks: 'A reader changes passes.',
    file: 'src/core/rules/people/person-roles.ts',
    text: '  reader: readScopes,',
    replacement: "  reader: [...readScopes, 'passes:write'],",
    tests: roles,
  },
]

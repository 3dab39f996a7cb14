import type { Fault } from './fault.ts'

/** Faults in guards of the server and of the wallets, which tests once missed. */
export const serverGuards: Fault[] = [
  {
    name: 'clock-back-keeps-token',
    breaks: 'A revoked token lives on after the clock of the server was set back.',
    file: 'src/server/http/middleware/authenticate.ts',
    text: 'age >= 0 && age < CACHE_MS',
    replacement: 'age < CACHE_MS',
    tests: ['test/server/http/authenticate.test.ts'],
  },
  {
    name: 'full-buckets-kept',
    breaks: 'The rate limits keep every address in memory that ever sent a request.',
    file: 'src/server/http/middleware/rate-limit.ts',
    text: '        buckets.share(1, now)\n',
    replacement: '',
    tests: ['test/server/http/buckets.test.ts'],
  },
  {
    name: 'batch-overshoots',
    breaks: 'Passes of one batch exceed the limit of the workspace.',
    file: 'src/server/api/limits.ts',
    text: '    for (const name of stored) used[name] += wanted[name] ?? 0\n',
    replacement: '',
    tests: ['test/server/api/limits.test.ts'],
  },
  {
    name: 'rejected-import-keeps-name',
    breaks: 'An import item that is rejected for its Google object blocks its serial number for later items.',
    file: 'src/server/api/passes/import-passes.ts',
    text: `  if (serialNumbers.has(importedSerialNumber ?? '') || googleObjectIds.has(googleObjectId ?? '')) return false
  if (importedSerialNumber !== null) serialNumbers.add(importedSerialNumber)
`,
    replacement: `  if (serialNumbers.has(importedSerialNumber ?? '')) return false
  if (importedSerialNumber !== null) serialNumbers.add(importedSerialNumber)
  if (googleObjectIds.has(googleObjectId ?? '')) return false
`,
    tests: ['test/server/api/passes/pass-import.test.ts'],
  },
  {
    name: 'unused-class-kept',
    breaks: 'A class key that no pass has any longer keeps the values of its last pass.',
    file: 'src/server/api/passes/update-pass.ts',
    text: '    await tx.googleClasses.deleteUnused(workspaceId, pass.googleClassId)\n',
    replacement: '',
    tests: ['test/server/wallet-sync/google-class-keys.test.ts'],
  },
  {
    name: 'pushed-before-tagged',
    breaks: 'A phone that asks for changes as soon as it is pushed does not get the message.',
    file: 'src/server/messages/send-notification.ts',
    text: '  await store.transaction((tx) => tx.registrations.bumpUpdateTag(workspaceId, passIds))\n',
    replacement: '',
    tests: ['test/server/messages/notification-delivery.test.ts'],
  },
  {
    name: 'follower-never-leaves',
    breaks: 'The timer of a closed event stream stays until it fires.',
    file: 'src/server/webhooks/wake-ups.ts',
    text: '          leave()\n',
    replacement: '',
    tests: ['test/server/webhooks/wake-ups.test.ts'],
  },
  {
    name: 'idle-connection-stays',
    breaks: 'The connection of the previous certificate stays open if it is idle at the renewal.',
    file: 'src/wallets/apple/push.ts',
    text: '      if (before.calls === 0) before.provider.shutdown()\n      else former.add(before)\n',
    replacement: '      former.add(before)\n',
    tests: ['test/server/boot/renewal.test.ts'],
  },
  {
    name: 'first-signing-time',
    breaks: 'Every package has the signing time of the first one.',
    file: 'src/wallets/apple/package.ts',
    text: 'if (form.second !== second)',
    replacement: 'if (form.second === 0)',
    tests: ['test/wallets/apple/cms.test.ts'],
  },
  {
    name: 'oldest-messages',
    breaks: 'A class that is replaced loses its newest message.',
    file: 'src/wallets/google/api/api.ts',
    text: '.slice(-MAX_MESSAGES)',
    replacement: '.slice(0, MAX_MESSAGES)',
    tests: ['test/wallets/google/api.test.ts'],
  },
  {
    name: 'shorter-pause',
    breaks: 'A short pause that Google requests ends a longer one.',
    file: 'src/wallets/google/api/pacing.ts',
    text: 'pausedUntil = Math.max(pausedUntil, performance.now() + Math.min(seconds, MAX_PAUSE_SECONDS) * 1000)',
    replacement: 'pausedUntil = performance.now() + Math.min(seconds, MAX_PAUSE_SECONDS) * 1000',
    tests: ['test/wallets/google/pacing.test.ts'],
  },
]

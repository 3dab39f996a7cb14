import type { Fault } from './fault.ts'

/** Faults in guards of the rules, doors, commands and the desk, which tests once missed. */
export const clientGuards: Fault[] = [
  {
    name: 'no-overlap',
    breaks: 'A door admits a pass again that the server recorded while its list was read.',
    file: 'src/core/rules/door/own-scans.ts',
    text: 'Date.parse(generatedAt) - OVERLAP_MS',
    replacement: 'Date.parse(generatedAt)',
    tests: ['test/core/rules/door/own-scans.test.ts'],
  },
  {
    name: 'cut-key-unmarked',
    breaks: 'A list that is sorted by long texts skips rows: a cut key is taken for a whole one.',
    file: 'src/core/rules/lists/cursor.ts',
    text: 'Buffer.byteLength(key) > MAX_KEY_BYTES - 4',
    replacement: 'Buffer.byteLength(key) > MAX_KEY_BYTES',
    tests: ['test/core/rules/lists/cursor.test.ts'],
  },
  {
    name: 'half-a-character',
    breaks: 'A cursor of a long text ends in the middle of a character, and the next page is rejected.',
    file: 'src/core/rules/lists/cursor.ts',
    text: '  while ((bytes[end]! & 0b1100_0000) === 0b1000_0000) end -= 1\n',
    replacement: '',
    tests: ['test/core/rules/lists/cursor.test.ts'],
  },
  {
    name: 'retried-after-success',
    breaks: 'A webhook delivery that succeeded is retried by its schedule after a redelivery.',
    file: 'src/core/rules/sending/retries.ts',
    text: 'resumeAt: outcome.error === null ? null : next',
    replacement: 'resumeAt: next',
    tests: ['test/core/rules/sending/delivery.test.ts'],
  },
  {
    name: 'list-named-too-early',
    breaks: 'Changes that broke off are lost for a door: it names its list before the last page has come.',
    file: 'src/door/engine/lists.ts',
    text: 'hasMore ? null : { id, generatedAt }',
    replacement: '{ id, generatedAt }',
    tests: ['test/door/lists.test.ts'],
  },
  {
    name: 'undone-scan-is-the-same',
    breaks: 'A code that is read at once after its scan was reversed is taken for the same reading.',
    file: 'src/door/engine/scanner.ts',
    text: '      recent.forget(scan)\n',
    replacement: '',
    tests: ['test/door/engine.test.ts'],
  },
  {
    name: 'prune-hides-errors',
    breaks: '`passes apply --prune` reports as deleted what the server refused to delete.',
    file: 'src/cli/apply/plan.ts',
    text: '!(error instanceof ApiError) || error.status !== 404',
    replacement: '!(error instanceof ApiError)',
    tests: ['test/cli/apply/plan.test.ts'],
  },
  {
    name: 'day-of-25-hours',
    breaks: 'The desk calls the figures of 25 hours those of a day.',
    file: 'src/desk/live/sources.ts',
    text: 'Math.floor(now.getTime() / HOUR_MS) - 23',
    replacement: 'Math.floor(now.getTime() / HOUR_MS) - 24',
    tests: ['test/desk/live/sources.test.ts'],
  },
]

/**
 * Writes the conference's CSV files, the same ones on every run: `npx tsx examples/make-attendees.ts [FOLDER]`.
 * FOLDER is where to write; the examples' own conference folder where it is left out.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { attendeeColumns, attendees } from './generator/attendees.ts'
import { brokenRows, cellsOf } from './generator/broken-attendees.ts'
import { csv } from './generator/csv.ts'

const folder = process.argv[2] ?? join(import.meta.dirname, 'conference')

const registered = attendees({ seed: 2027, first: 1, count: 2000 })
const late = attendees({ seed: 521, first: 2001, count: 40 })
const broken = new Map(brokenRows(late).map((row) => [row.index, row.cells]))

await mkdir(folder, { recursive: true })
await write('attendees.csv', registered.map(cellsOf))
await write(
  'attendees-broken.csv',
  late.map((attendee, index) => broken.get(index) ?? cellsOf(attendee)),
)
await write('attendees-mended.csv', late.filter((_, index) => broken.has(index)).map(cellsOf))

async function write(name: string, rows: string[][]): Promise<void> {
  await writeFile(join(folder, name), csv(attendeeColumns, rows))
}

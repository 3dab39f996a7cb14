/**
 * Writes the lists of all examples except the conference, the same ones on every run: `npx tsx examples/make-customers.ts [FOLDER]`.
 * FOLDER is where to write; the examples' own folder where it is left out.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { csv } from './generator/csv.ts'
import { couponColumns, coupons, memberColumns, members, passengerColumns, passengers } from './generator/customers.ts'
import { cardColumns, cards, ticketColumns, tickets } from './generator/visitors.ts'

const folder = process.argv[2] ?? import.meta.dirname

await write('loyalty', 'members.csv', csv(memberColumns, members(200)))
await write('coupon', 'coupons.csv', csv(couponColumns, coupons(200)))
await write('boarding-pass', 'passengers.csv', csv(passengerColumns, passengers(120)))
await write('museum', 'cards.csv', csv(cardColumns, cards(40)))
await write('festival', 'tickets.csv', csv(ticketColumns, tickets(40)))

async function write(example: string, name: string, content: string): Promise<void> {
  await mkdir(join(folder, example), { recursive: true })
  await writeFile(join(folder, example, name), content)
}

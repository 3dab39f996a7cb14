import { randomUUID } from 'node:crypto'
import { Flags } from '@oclif/core'
import { occupancyUnits, WhenFull, type Zone, type ZoneOccupancy } from '../../core/contract/scans/zones.ts'
import { filterFlag, PAST, pastFlag } from '../arguments/list-flags.ts'
import { named, namedArg, noneToNull, requiredFlag } from '../arguments/named.ts'
import { terminalWidth } from '../command/base-command.ts'
import { UsageError } from '../command/cli-error.ts'
import { count, details, localTime, localTimeOr } from '../command/output.ts'
import { callCommand, listCommand, PROJECT, type ResourceCommands } from '../command/resource-command.ts'
import { timeZoneOf } from '../figures-output.ts'
import type { ListShape } from '../list/shape.ts'
import { watchZone } from '../list/watch-zone.ts'

const shape: ListShape<Zone> = {
  columns: [
    { name: 'id', kind: 'id' },
    ['name', 'inside'],
    { name: 'capacity', none: 'no limit' },
    ['whenFull', 'projectId'],
    { name: 'resetAt', kind: 'time', title: 'reset', none: 'never' },
    ['createdAt', 'updatedAt'],
  ],
  table: ['id', 'name', 'inside', 'capacity', 'whenFull', 'resetAt'],
}

const args = { zone: namedArg('zone') }
const SPEAKERS = '"Speakers lounge"'
const WHEN_FULL = 'Behavior at the capacity: warn accepts further entries, deny rejects them'
const capacityFlag = Flags.custom<number | 'none'>({ parse: async (text) => parseCapacity(text) })
const reasonFlag = Flags.string({ summary: 'Reason, up to 255 characters.', required: true })
const refSummary = 'Key of up to 255 characters that makes retries safe'

export const commands: ResourceCommands = {
  'zone:create': callCommand({
    summary: 'Create a zone.',
    description:
      'A zone counts the people inside, based on scans with this zone and a direction. Needs a token of an owner.',
    examples: [
      'zone create --project "Spring fair" --name Hall --capacity 500 --when-full deny',
      `zone create --project "Spring fair" --name ${SPEAKERS} --json`,
    ],
    flags: {
      project: requiredFlag('project', ' whose passes enter the zone'),
      name: Flags.string({ summary: 'Name, up to 100 characters.', required: true }),
      capacity: capacityFlag({ summary: 'Number of people who fit, or "none" (the default).' }),
      'when-full': Flags.option({ summary: `${WHEN_FULL} (default: warn).`, options: WhenFull.options })(),
    },
    call: ({ zones }, { flags: { project: projectId, name, capacity, 'when-full': whenFull } }) =>
      zones.create({ body: { projectId, name, capacity: noneToNull(capacity), whenFull } }),
    print: showZone,
  }),
  'zone:list': listCommand({
    summary: 'List zones, newest first, with the number of people inside.',
    examples: ['zone list --project "Spring fair"', 'zone list --all --json'],
    flags: { project: named('project', filterFlag('Only zones of this project.')) },
    query: ({ project }) => ({ projectId: project }),
    list: ({ zones }) => zones.list,
    shape,
    noun: ['zone', 'zones'],
    empty: 'Next: passes zone create --project PROJECT --name NAME',
  }),
  'zone:get': callCommand({
    summary: 'Show a zone and the number of people inside.',
    examples: ['zone get Hall', `zone get ${PROJECT} --json`],
    args,
    call: ({ zones }, { args: { zone: id } }) => zones.get({ params: { id } }),
    print: showZone,
  }),
  'zone:update': callCommand({
    summary: 'Update a zone.',
    description: 'Omitted fields keep their values. Needs a token of an owner.',
    examples: ['zone update Hall --capacity 450', 'zone update Hall --capacity none --when-full warn --json'],
    args,
    flags: {
      name: Flags.string({
        summary: 'Name, up to 100 characters.',
        atLeastOne: ['name', 'capacity', 'when-full'],
      }),
      capacity: capacityFlag({ summary: 'Number of people who fit, or "none".' }),
      'when-full': Flags.option({ summary: `${WHEN_FULL}.`, options: WhenFull.options })(),
    },
    call: ({ zones }, { args: { zone: id }, flags: { name, capacity, 'when-full': whenFull } }) =>
      zones.update({ params: { id }, body: { name, capacity: noneToNull(capacity), whenFull } }),
    print: showZone,
  }),
  'zone:delete': callCommand({
    summary: 'Delete a zone.',
    description:
      'Recorded scans keep the ID of the zone. Doors at entrances continue to scan, without a zone. Doors at exits ' +
      'stop scanning until you give them another zone, or set them to no zone.',
    examples: ['zone delete Hall', `zone delete ${PROJECT} --yes --json`],
    args,
    asks: true,
    async call({ zones }, { args: { zone: id }, ask }) {
      await ask(`Delete zone ${id}?`)
      await zones.delete({ params: { id } })
      return { id, deleted: true }
    },
    print: ({ id }) => `Zone ${id} is deleted.`,
  }),
  'zone:reset': callCommand({
    summary: 'Count everybody in a zone as outside.',
    description:
      'A reset cannot be undone. Earlier scans that are uploaded later do not count. Needs a token of an owner.',
    examples: ['zone reset Hall --reason "End of day 1"', 'zone reset Hall --reason "End of day 1" --yes --json'],
    args,
    flags: { reason: reasonFlag, ref: Flags.string({ summary: `${refSummary}.` }) },
    asks: true,
    async call({ zones }, { args: { zone: id }, flags: { reason, ref: externalRef }, ask }) {
      const { name, inside } = await zones.get({ params: { id } })
      const state = `${count(inside)} inside now`
      await ask(`A reset cannot be undone. Set everybody in zone ${name} (${id}, ${state}) to outside?`)
      return zones.reset({ params: { id }, body: { reason, externalRef } })
    },
    print: showZone,
  }),
  'zone:adjust': callCommand({
    summary: 'Count people in or out without a scan.',
    examples: [
      {
        description: 'Count somebody who left by a door without a scanner',
        command: 'zone adjust Hall --delta=-1 --reason "Back door"',
      },
      {
        description: 'Correct the number after a count by hand',
        command: 'zone adjust Hall --delta 12 --reason "Counted at noon" --ref noon',
      },
    ],
    args,
    flags: {
      delta: Flags.integer({
        summary: 'Number of people to add; negative for people who left, as in --delta=-1.',
        required: true,
      }),
      reason: reasonFlag,
      ref: Flags.string({ summary: `${refSummary} (default: a new key).` }),
    },
    call: ({ zones }, { args: { zone: id }, flags: { delta, reason, ref: externalRef = randomUUID() } }) =>
      zones.adjust({ params: { id }, body: { delta, reason, externalRef } }),
    print: showZone,
  }),
  'zone:occupancy': callCommand({
    summary: 'Show entries, exits, and the number of people inside a zone over time.',
    examples: [
      { description: 'Show the last 24 hours', command: 'zone occupancy Hall' },
      { description: 'Show each minute of the last four hours', command: 'zone occupancy Hall --by minute --from 4h' },
      { description: 'Follow the number of people inside', command: 'zone occupancy Hall --watch' },
    ],
    args,
    flags: {
      by: Flags.option({ summary: 'Length of a period.', options: occupancyUnits, default: 'hour' as const })(),
      from: pastFlag(
        `Start of the first period: ${PAST} (default: 24 hours before the end, or 2 hours with --by minute).`,
      ),
      to: pastFlag('End of the last period (default: now).'),
      'time-zone': Flags.string({ summary: 'Time zone of the shown times (default: that of this computer).' }),
      watch: Flags.boolean({
        summary: 'Keep running until Ctrl-C, and show the number when it changes.',
        exclusive: ['json', 'from', 'to', 'by'],
      }),
    },
    async call(client, { args: { zone: id }, flags: { by, from, to, watch }, log, note }) {
      if (watch) {
        for await (const zone of watchZone(client, id, { note })) {
          log(`${localTime(new Date().toISOString())}  ${ofCapacity(zone)}`)
        }
      }
      return client.zones.occupancy({ params: { id }, query: { by, from, to } })
    },
    async print(occupancy, { flags }) {
      const { showOccupancy } = await import('../figures-output.ts')
      const table = showOccupancy(occupancy, timeZoneOf(flags), terminalWidth())
      return `${table}\n\n${summaryOf(occupancy)}`
    },
  }),
}

/**
 * Parses a capacity: a whole number, or `none`.
 * @throws UsageError
 */
function parseCapacity(text: string): number | 'none' {
  if (text === 'none') return text
  const capacity = Number(text)
  if (Number.isSafeInteger(capacity) && capacity >= 1) return capacity
  throw new UsageError(`${text} is not a capacity`, { hint: 'give a whole number of at least 1, or "none".' })
}

function showZone(zone: Zone): string {
  return details([
    ['Zone', zone.id],
    ['Name', zone.name],
    ['Inside', ofCapacity(zone)],
    ['When full', zone.whenFull],
    ['Project', zone.projectId],
    ['Reset', localTimeOr(zone.resetAt, 'never')],
    ['Created', localTime(zone.createdAt)],
    ['Updated', localTime(zone.updatedAt)],
  ])
}

function ofCapacity({ inside, capacity }: Pick<Zone, 'inside' | 'capacity'>): string {
  return capacity === null ? count(inside) : `${count(inside)} of ${count(capacity)}`
}

function summaryOf(occupancy: ZoneOccupancy): string {
  return details([
    ['Inside now', ofCapacity(occupancy)],
    ['Peak', `${count(occupancy.peak)} (${localTime(occupancy.peakAt)})`],
    ['Entries', count(occupancy.entries)],
    ['Exits', count(occupancy.exits)],
  ])
}

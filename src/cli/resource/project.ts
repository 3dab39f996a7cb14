import { Flags } from '@oclif/core'
import { type Project, ProjectColor } from '../../core/contract/projects.ts'
import { bucketUnits } from '../../core/contract/schemas/common.ts'
import { formerly, PAST, pastFlag } from '../arguments/list-flags.ts'
import { namedArg, namedFlag, noneToNull } from '../arguments/named.ts'
import { terminalWidth } from '../command/base-command.ts'
import { count, details, localTimeOr } from '../command/output.ts'
import { callCommand, listCommand, PROJECT, type ResourceCommands } from '../command/resource-command.ts'
import { timeZoneOf } from '../figures-output.ts'
import type { ListShape } from '../list/shape.ts'
import { showLimits, showProject } from '../records.ts'

const shape: ListShape<Project> = {
  columns: [{ name: 'id', kind: 'id' }, ['name', 'color', 'description', 'createdAt', 'updatedAt']],
  table: ['id', 'name', 'color', 'createdAt'],
}

const args = { id: namedArg('project') }

const fields = { description: Flags.string({ summary: 'Description, up to 2000 characters.' }) }

export const commands: ResourceCommands = {
  'project:get': callCommand({
    summary: 'Show a project.',
    examples: [`project get ${PROJECT}`, `project get ${PROJECT} --json`],
    args,
    call: ({ projects }, { args: { id } }) => projects.get({ params: { id } }),
    print: showProject,
  }),
  'project:list': listCommand({
    summary: 'List projects, newest first.',
    examples: [
      { description: 'List the newest projects', command: 'project list' },
      { description: 'List all projects, for a script', command: 'project list --all --json' },
    ],
    list: ({ projects }) => projects.list,
    shape,
    noun: ['project', 'projects'],
    empty: 'Next: passes project create --name NAME',
  }),
  'project:create': callCommand({
    summary: 'Create a project.',
    examples: [
      'project create --name "Spring fair"',
      'project create --name "Spring fair" --description "Both days" --color green --json',
    ],
    flags: {
      name: Flags.string({ summary: 'Name, up to 255 characters.', required: true }),
      ...fields,
      color: Flags.option({ summary: 'Color (default: gray).', options: ProjectColor.options })(),
    },
    call: ({ projects }, { flags: { name, description, color } }) =>
      projects.create({ body: { name, description, color } }),
    print: showProject,
  }),
  'project:update': callCommand({
    summary: 'Update a project.',
    description: 'Omitted fields keep their values.',
    examples: [
      `project update ${PROJECT} --name "Autumn fair"`,
      `project update ${PROJECT} --color orange --description ""`,
      'project update "Acme fair" --apple-identity acme',
    ],
    args,
    flags: {
      name: Flags.string({
        summary: 'Name, up to 255 characters.',
        atLeastOne: ['name', 'description', 'color', 'apple-identity', 'google-identity'],
      }),
      ...fields,
      color: Flags.option({ summary: 'Color.', options: ProjectColor.options })(),
      'apple-identity': namedFlag(
        'identity',
        ' that signs new passes for Apple; "none" for the default of the workspace',
        {
          mayBeNone: true,
        },
      ),
      'google-identity': namedFlag(
        'identity',
        ' that issues new passes at Google; "none" for the default of the workspace',
        {
          mayBeNone: true,
        },
      ),
    },
    call: ({ projects }, { args: { id }, flags: { name, description, color, ...identities } }) =>
      projects.update({
        params: { id },
        body: {
          name,
          description,
          color,
          appleIdentityId: noneToNull(identities['apple-identity']),
          googleIdentityId: noneToNull(identities['google-identity']),
        },
      }),
    print: showProject,
  }),
  'project:delete': callCommand({
    summary: 'Delete a project.',
    description: 'The templates and passes of the project remain, without a project.',
    examples: [`project delete ${PROJECT}`, `project delete ${PROJECT} --yes --json`],
    args,
    asks: true,
    async call({ projects }, { args: { id }, ask }) {
      await ask(`Delete project ${id}?`)
      await projects.delete({ params: { id } })
      return { id, deleted: true }
    },
    print: ({ id }) => `Project ${id} is deleted.`,
  }),
  'project:stats': callCommand({
    summary: 'Count the templates and passes of a project.',
    examples: [`project stats ${PROJECT}`, `project stats ${PROJECT} --json`],
    args,
    call: ({ projects }, { args: { id } }) => projects.stats({ params: { id } }),
    print: (stats) =>
      details([
        ['Project', stats.projectId],
        ['Templates', count(stats.templateCount)],
        ['Live passes', count(stats.livePassCount)],
        ['All passes', count(stats.totalPassCount)],
        ['Installed on Google', count(stats.googleInstallCount)],
        ['Added in the last 7 days', count(stats.passesAddedLast7Days)],
      ]),
  }),
  'project:figures': callCommand({
    summary: 'Show figures of a project over time.',
    description: 'Prints one line per figure, with its sum and a sparkline.',
    examples: [
      { description: 'Show the last 30 days', command: 'project figures "Polyglot 2027"' },
      {
        description: 'Draw the admissions per hour',
        command: 'project figures "Polyglot 2027" --by hour --from 12h --figure scans.valid',
      },
      { description: 'Write all values for a spreadsheet', command: 'project figures "Polyglot 2027" --csv' },
    ],
    args,
    flags: {
      by: Flags.option({
        summary: 'Length of a period.',
        options: bucketUnits,
        default: 'day' as const,
      })(),
      from: pastFlag(`Start of the first period: ${PAST} (default: 30 days ago).`),
      to: pastFlag('End of the last period (default: now).'),
      'time-zone': Flags.string({
        summary: 'Time zone of the periods, such as Europe/Berlin (default: that of this computer).',
        ...formerly('zone'),
      }),
      figure: Flags.string({
        summary: 'Name of the only figure to draw, such as issued, installed.apple, or scans.valid.',
        exclusive: ['table', 'csv', 'json'],
      }),
      table: Flags.boolean({
        summary: 'Show all values as a table, with one line per period.',
        exclusive: ['csv', 'json'],
      }),
      csv: Flags.boolean({ summary: 'Write all values as CSV.', exclusive: ['json'] }),
    },
    async call({ projects }, { args: { id }, flags: { by, to, ...flags } }) {
      const from = flags.from ?? new Date(Date.now() - 30 * 86_400_000).toISOString()
      return projects.figures({ params: { id }, query: { by, from, to, zone: timeZoneOf(flags) } })
    },
    async print(figures, { flags }) {
      const { drawFigure, figuresCsv, figuresTable, sparklines } = await import('../figures-output.ts')
      const canvas = { zone: timeZoneOf(flags), width: terminalWidth() }
      if (flags.csv) return figuresCsv(figures).trimEnd()
      if (flags.figure) return drawFigure(figures, flags.figure, canvas)
      return flags.table ? figuresTable(figures, canvas) : sparklines(figures, canvas.width)
    },
  }),
  'workspace:show': callCommand({
    summary: 'Show the workspace of the token with its limits and usage.',
    description: 'Only an operator can change the limits, with "passes workspace limits".',
    examples: ['workspace show', 'workspace show --profile production --json'],
    call: ({ workspace }) => workspace.get(),
    print({ id, name, expiresAt, limits, usage }) {
      const facts = details([
        ['Workspace', id],
        ['Name', name],
        ['Ends', expiresAt === undefined ? null : localTimeOr(expiresAt, 'never')],
      ])
      // Omit the limits if the token is bound to projects, because the server then returns no limits.
      return limits && usage ? `${facts}\n\n${showLimits(limits, usage, terminalWidth())}` : facts
    },
  }),
}

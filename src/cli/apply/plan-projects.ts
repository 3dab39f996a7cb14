import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import type { Project } from '../../core/contract/projects.ts'
import { CliError } from '../command/errors.ts'
import { type Change, findChanges } from '../template/compare.ts'
import type { ProjectFile } from './desired-state.ts'
import type { Step } from './step.ts'

/** The ids of projects by name, those that a run makes among them. */
export type ProjectIds = Map<string, string>

export function planProject(client: Client, file: ProjectFile, stored: readonly Project[], ids: ProjectIds): Step {
  const { path, value } = file
  const { $schema: _, ...wanted } = value
  const [project] = requireOne(stored, ({ name }) => name === wanted.name, { path, what: `projects ${wanted.name}` })
  const step = { kind: 'project', name: wanted.name, file: path } as const
  if (!project) {
    return {
      ...step,
      action: 'create',
      changes: [],
      async carryOut() {
        try {
          ids.set(wanted.name, (await client.projects.create({ body: { ...wanted, unique: true } })).id)
          return 'created'
        } catch (error) {
          // Another run was quicker.
          const id = error instanceof ApiError && error.code === 'CONFLICT' && error.details.projectId
          if (typeof id !== 'string') throw error
          ids.set(wanted.name, id)
          await client.projects.update({ params: { id }, body: wanted })
          return 'updated'
        }
      },
    }
  }
  ids.set(wanted.name, project.id)
  const changes = changesIn(project, wanted)
  if (changes.length === 0) return { ...step, action: 'unchanged', changes }
  return {
    ...step,
    action: 'change',
    changes,
    async carryOut() {
      await client.projects.update({ params: { id: project.id }, body: wanted })
      return 'updated'
    },
  }
}

/** What differs of the fields that a file gives; one that it leaves out is as it is. */
export function changesIn(stored: object, wanted: object): Change[] {
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined)
  const there = new Map(Object.entries(stored))
  return findChanges(Object.fromEntries(given.map(([name]) => [name, there.get(name)])), Object.fromEntries(given))
}

/** @throws CliError where a file may be about several */
export function requireOne<T extends { id: string }>(
  stored: readonly T[],
  isMeant: (one: T) => boolean,
  { path, what }: { path: string; what: string },
): T[] {
  const found = stored.filter(isMeant)
  if (found.length <= 1) return found
  const ids = found.map(({ id }) => id)
  throw new CliError([`${path}: the server has ${found.length} ${what}`, ...ids].join('\n'), {
    code: 'CONFLICT',
    details: { file: path, ids },
    hint: 'rename or delete all but one, so that it is clear which the file is about.',
  })
}

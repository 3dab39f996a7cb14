import { expect, test } from 'vitest'
import { type Api, ApiRejection } from '../../../src/desk/live/desk-api.ts'
import { listProjects } from '../../../src/desk/live/load-projects.ts'

const listed = [
  { id: 'p2', name: 'Polyglot 2027' },
  { id: 'p1', name: 'Polyglot 2026' },
]
const old = { id: 'p0', name: 'Polyglot 2019' }

const facts = { boundTo: undefined, wanted: null, isPerson: false }

function apiThatAnswers(status: number, asked: string[] = []): Api {
  return {
    projects: {
      list: async () => ({ items: listed, total: listed.length, nextCursor: null }),
      get: async ({ params }: { params: { id: string } }) => {
        asked.push(params.id)
        if (params.id === old.id) return old
        throw new ApiRejection({ status, code: '', message: 'No', waitMs: null })
      },
    },
  } as unknown as Api
}

test.each([null, 'p1', 'Polyglot 2027'])('for %s, reads only the newest', async (wanted) => {
  const asked: string[] = []
  const projects = await listProjects(apiThatAnswers(404, asked), ['templates:read'], { ...facts, wanted })
  expect([projects, asked]).toEqual([listed, []])
})

test('finds a project outside the list by its ID, and skips unknown IDs', async () => {
  const find = (wanted: string, status: number) =>
    listProjects(apiThatAnswers(status), ['templates:read'], { ...facts, wanted })
  expect(await find('p0', 404)).toEqual([...listed, old])
  expect(await find('p9', 404)).toEqual(listed)
  expect(await find('no id', 400)).toEqual(listed)
  await expect(find('p9', 503)).rejects.toThrow('No')
})

test('shows a door lead the projects of passes and doors before the first scan', async () => {
  const page = { total: 0, nextCursor: null }
  const api = {
    scans: { stats: async () => ({ items: [] }) },
    doors: { list: async () => ({ ...page, items: [{ projectId: 'p1', projectName: 'Polyglot 2026' }] }) },
    passes: { list: async () => ({ ...page, items: [{ projectId: 'p1' }, { projectId: 'p2' }] }) },
  } as unknown as Api
  const scopes = ['passes:read', 'scans:read', 'scans:write'] as const
  expect(await listProjects(api, scopes, { ...facts, isPerson: true })).toEqual([
    { id: 'p1', name: 'Polyglot 2026' },
    { id: 'p2', name: 'p2' },
  ])
  expect(await listProjects(api, scopes, facts)).toEqual([])
})

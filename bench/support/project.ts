import type { Database } from '../../src/storage/db/database.ts'
import { createStore } from '../../src/storage/store.ts'
import { insertPasses } from './many-passes.ts'

/** Creates a project with many passes by SQL, as `insertPasses` does. Returns its ID. */
export async function insertProject(database: Database, workspaceId: string, passes: number) {
  const { writer } = database
  const at = new Date()
  const fields = { name: 'Many', description: '', color: 'gray' } as const
  const project = await createStore(database).transaction((tx) => tx.projects.insert(workspaceId, fields, at))
  await insertPasses(writer, workspaceId, passes)
  await writer('passes')
    .where({ workspace_id: workspaceId })
    .update({
      project_id: project.id,
      issued_at: writer.ref('created_at'),
      issued_until: writer.raw("case when status = 'VOID' then created_at + 1 end"),
    })
  return project.id
}

/**
 * Checks the English of comments, strings, test names, and Markdown. Each banned phrase has a usual replacement. Each
 * area has a ceiling: lower the ceiling when the texts of the area improve, and never raise it.
 *
 * - `node scripts/voice.js` counts the hits of each area, and exits with 1 above a ceiling
 * - `node scripts/voice.js --list src/server` prints the hits in a folder or file
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** The maximum number of hits per area. */
const ceilings = { src: 1, docs: 0, 'test names': 0, 'long test names': 0, 'tests and tools': 0 }

const MAX_TEST_NAME = 100

/** Patterns for the start of a comment. */
const bannedStarts = [
  [/(?:^|[.!?])\s*(what|whose|who|whom)\b/, 'a noun phrase or a verb: "The …", "Returns …"'],
  [/^\s*(where|how|which)\b/, '"The place …", "The number …", "If …"'],
  [/^\s*(nothing|none)\b/, 'state the rule positively'],
  [/^\s*(true|false|null|undefined) where\b/, '"Whether …", "`null` if …"'],
  [/^\s*of\b/, 'the noun first: "The webhooks of …"'],
]

/** A pattern for the start of a docstring: an inline comment can start with a condition. */
const bannedDocStarts = [[/^\s*when\b/, '"The time …", "If …"']]

const banned = [
  [/\bwho(m|se)?ever\b/, '"anyone who", "if you", the name of the actor'],
  [/(?:^|[.!?]\s+)who [a-z]+/, '"If you …", "Users who …"'],
  [/\bnobody\b/, '"no client", "never", the passive with "not"'],
  [/\bwhatever\b/, '"regardless of", "any", "all"'],
  [/\bhowever (much|many|long|often|far|large|busy|slow|small|full|few)\b/, '"regardless of the number of"'],
  [/\bof (which|whom)\b/, 'two sentences, or "whose"'],
  [/\bso (many|much|long|few|far|often|large)\b(?! that| as)/, 'the number: "at most N", "the timeout"'],
  [/\b(anew|afresh)\b/, '"again", "from scratch", a verb: "reload"'],
  [/\bbeside\b/, '"next to", "in addition to", "except", "concurrently with"'],
  [/\bstands?\b(?! for\b|-in)/, '"is", "is listed", "is stored", "remains"'],
  [/\bstood\b/, '"was", "appeared", "was stored"'],
  [/\b(is|are|was|were|be) told\b/, '"is notified", "is reported", "receives"'],
  [/\btells? (it|them|apart|of|what|which|how|whether|when|where|whose)\b/, '"reports", "shows", "distinguishes"'],
  [/\bsay(s|ing)? so\b/, '"reports it", "shows a message", "warns"'],
  [/\bof before\b/, '"previous", "earlier", "old"'],
  [/\b(goes|go|went|going|gone) on\b/, '"continues", "resumes", "proceeds"'],
  [/\b(comes|come|came|coming) to\b/, '"is", "totals", "reaches", "results in"'],
  [/\b(came|comes|come|became|becomes|become) of\b/, '"the result", "happens to"'],
  [/\b(is|are|was|were) content\b|\bcontent with\b/, '"accepts", "requires only"'],
  [/\bfor good\b/, '"permanently", "irreversibly", "forever"'],
  [/\bin vain\b/, '"without success", "has no effect"'],
  [/\bthere is no such\b/, '"X not found"'],
  [/\bof (his|her|their|our|your|its) own\b/, '"its own X", "a separate X"'],
  [/\b(he|him|his|himself)\b/, '"they", "the user", "the operator"'],
  [/\bgives? back\b|\bgave back\b|\bgiven back\b/, '"releases", "returns"'],
  [/\b(set|sets) aside\b|\bputs? off\b/, '"discarded", "quarantined", "snoozed", "deferred"'],
  [/\bmend(s|ed|ing)?\b/, '"fix", "repair", "resolve"'],
  [/\bbe it\b|\bbe they\b/, '"whether … or …"'],
  [/\bbut for\b|\bsave for\b/, '"except"'],
  [/\balike\b/, '"the same", "equally", "both"'],
  [/\b(judge[sd]?|judging|judgements?)\b/, '"evaluate", "evaluation"'],
  [/\bonce more\b/, '"again", "a second time"'],
  [/\bsome \d/, '"about N"'],
  [/\bgoes? (before|by)\b/, '"takes precedence over", "uses"'],
  [/\b(charge[sd]?|charging)\b/, '"debit"'],
  [/\bfrom then on\b|\bfrom (there|here|it) on\b/, '"after that", "afterwards"'],
]

/** Phrases that are often right. They are counted and never fail the check. */
const reviewed = [
  /\b(some|any)body\b/,
  /\bsays? (of|what|which|how|whether|when|where|why|whom|who|whose)\b/,
  /\b(as|from|than|those|the one|ones) before\b/,
  /\bmeanwhile\b/,
  /\bby (itself|themselves)\b/,
  /\balone\b/,
  /\b(is|are|was|were) no\b/,
  /\b(ours|theirs|yours)\b/,
  /\bmoments?\b/,
  /\bmay\b/,
  /\bverdicts?\b/,
  /\bforeign\b/,
  /\b(any|no) more\b/,
  /\bto be (had|told|seen|found|looked|done)\b/,
  /\bturned away\b/,
  /\blets? (in|out|by|past|through)\b/,
  /\brooms?\b/,
  /\bwalk(s|ed|ing)?\b/,
  /\bas (it|they) (stands?|is|are|was|were|came)\b/,
  /\bwhere (it|they|one|none|nobody|nothing|that|there|the|a|an|no)\b/,
  /\b(with|by|from|in|to|for|on|under) which\b/,
  /\bthe (latter|former)\b/,
  /\banswer(s|ed)?\b/,
]

/** Legitimate phrases, each with the reason. The patterns ignore them. */
const allowed = [
  [/\bso far\b/, 'means "until now"'],
  [/\b(none|one|two|three|all|both|each|any|some|most|many|half) of (which|whom)\b/, 'follows a quantifier'],
  [/\bstands? (by|out)\b/, 'a phrasal verb'],
  [/\bcontent-addressed\b/, 'a noun, and a technical term'],
  [/\b(comes?|came|coming) to (the|a) (door|gate)\b/, 'motion'],
  [/\blook-?alikes?\b/, 'a noun'],
]

const AREAS = Object.keys(ceilings)

/** Translations would match by accident: `he` is a word in many languages. */
const isTranslation = (file) => /^src\/locales\/(?!en\/)[a-z]{2}\//.test(file)

/** The area of the comments and strings of a file; `undefined` if its texts are not checked. */
function areaOf(file) {
  if (isTranslation(file) || file === 'src/core/openapi/response-examples.json') return undefined
  if (/\.md$/.test(file)) return file.startsWith('bench/') ? 'tests and tools' : 'docs'
  if (/^src\/.*\.(tsx?|json|js|css)$/.test(file) || file === 'package.json') return 'src'
  if (/^(test|bench|scripts|examples)\/.*\.(tsx?|js)$/.test(file)) return 'tests and tools'
  return undefined
}

/** Replaces each match with the same number of characters, so that offsets do not change. */
const blank = (text, pattern, character) => text.replace(pattern, (part) => part.replace(/[^\n]/g, character))

const withoutCode = (text) => blank(text, /(`+)[^`][\s\S]*?\1/g, '_')

/** Yields comments without their marks. Consecutive lines of `//` are one comment. */
function* commentsOf(source, literals) {
  let code = ''
  let end = 0
  for (const [from, to] of literals.sort(([a], [b]) => a - b)) {
    if (from < end) continue
    code += source.slice(end, from) + '_'.repeat(to - from)
    end = to
  }
  code += source.slice(end)
  for (const { 0: comment, index } of code.matchAll(/\/\*[\s\S]*?\*\/|\/\/.*(?:\n[ \t]*\/\/.*)*/g)) {
    const isDoc = comment.startsWith('/**')
    const text = comment.startsWith('/*')
      ? blank(blank(comment, /^\/\*+|\*\/$/g, ' '), /^[ \t]*\*/gm, ' ')
      : blank(comment, /^[ \t]*\/\/+/gm, ' ')
    yield { offset: index, text: withoutCode(text), isComment: true, isDoc }
  }
}

/** Returns the name of the called function, which is `test` for `test.each(rows)(name)`. */
function calledName(node) {
  let callee = node.expression
  while (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) callee = callee.expression
  return ts.isIdentifier(callee) ? callee.text : ''
}

const isModuleName = (node) => ts.isImportDeclaration(node.parent) || ts.isExportDeclaration(node.parent)

/**
 * Yields the texts of a TypeScript or JavaScript file. Skips strings without a space, which are identifiers or keys.
 */
function* textsOfCode(file, source) {
  const root = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  const isTest = file.startsWith('test/')
  const literals = []
  const strings = []
  const names = new Set()
  const visit = (node) => {
    if (ts.isCallExpression(node) && node.arguments[0] && /^(test|it|describe)$/.test(calledName(node))) {
      names.add(node.arguments[0])
    }
    const isTemplate = ts.isTemplateExpression(node)
    if (ts.isStringLiteralLike(node) || ts.isJsxText(node) || isTemplate) {
      const start = ts.isJsxText(node) ? node.pos : node.getStart(root)
      let text = source.slice(start, node.end)
      if (isTemplate) {
        for (const { expression } of node.templateSpans) {
          const from = expression.pos - start
          text = text.slice(0, from) + '_'.repeat(expression.end - expression.pos) + text.slice(expression.end - start)
        }
      }
      const isName = isTest && names.has(node)
      if (isName || (!isTest && text.includes(' ') && !isModuleName(node))) {
        strings.push({ offset: start, text: withoutCode(blank(text, /^[`'"]|\\n|[`'"]$/g, ' ')), isName })
      }
    }
    if (ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isRegularExpressionLiteral(node)) {
      literals.push([node.getStart(root), node.end])
    } else if (ts.isStringLiteralLike(node)) literals.push([node.getStart(root), node.end])
    else if (ts.isJsxText(node)) literals.push([node.pos, node.end])
    ts.forEachChild(node, visit)
  }
  visit(root)
  yield* strings
  yield* commentsOf(source, literals)
}

/** Yields the values of a JSON file that are English. */
function* textsOfJson(source) {
  for (const { 1: text, 2: isKey, index } of source.matchAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/g)) {
    if (!isKey) yield { offset: index + 1, text: withoutCode(text) }
  }
}

/** Yields the blocks of a Markdown file, without code and addresses of links. */
function* textsOfMarkdown(source) {
  const prose = blank(blank(source, /^([ \t]*)(```+)[\s\S]*?^[ \t]*\2/gm, ' '), /(?<=\])\([^)]*\)/g, '_')
  for (const { 0: text, index } of prose.matchAll(/(?:(?!\n[ \t]*\n|\n[ \t]*(?:[-*|#]|\d+\.) )[\s\S])+/g)) {
    yield { offset: index, text: withoutCode(text) }
  }
}

function textsOf(file, source) {
  if (file.endsWith('.md')) return textsOfMarkdown(source)
  if (file.endsWith('.css')) return commentsOf(source, [])
  return file.endsWith('.json') ? textsOfJson(source) : textsOfCode(file, source)
}

/** Returns a pattern that matches in any case, and across the lines of a wrapped text. */
const acrossLines = (pattern) => new RegExp(pattern.source.replaceAll(' ', '\\s+'), 'gi')
const compile = (rules) => rules.map(([pattern, advice]) => [acrossLines(pattern), advice])

const rules = compile(banned)
const commentRules = [...compile(bannedStarts), ...rules]
const docRules = [...compile(bannedDocStarts), ...commentRules]
const reviewRules = reviewed.map(acrossLines)
const exceptions = allowed.map(([phrase]) => acrossLines(phrase))

function rulesFor({ isComment, isDoc }) {
  if (isDoc) return docRules
  return isComment ? commentRules : rules
}

/**
 * Checks one file. A hit has its area, line, phrase, and advice.
 * @returns the hits, and the number of phrases to review
 */
export function checkFile(file, source) {
  const area = areaOf(file)
  if (!area) return { hits: [], reviews: 0 }
  const hits = []
  let reviews = 0
  for (const unit of textsOf(file, source)) {
    const text = exceptions.reduce((rest, phrase) => blank(rest, phrase, '_'), unit.text)
    const addHit = (index, hit) => {
      const line = source.slice(0, unit.offset + index).split('\n').length
      hits.push({ file, line, ...hit })
    }
    for (const [pattern, advice] of rulesFor(unit)) {
      for (const { 0: phrase, index } of text.matchAll(pattern)) {
        const start = phrase.search(/\w/)
        const found = phrase.slice(start).replace(/\s+/g, ' ')
        addHit(index + start, { area: unit.isName ? 'test names' : area, phrase: found, advice })
      }
    }
    for (const pattern of reviewRules) reviews += [...text.matchAll(pattern)].length
    const { length } = unit.text.trim()
    if (unit.isName && length > MAX_TEST_NAME) {
      addHit(0, { area: 'long test names', phrase: `${length} characters`, advice: `at most ${MAX_TEST_NAME}` })
    }
  }
  return { hits, reviews }
}

function checkAll(folder) {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', folder]
  const files = execFileSync('git', list).toString().trim().split('\n')
  const results = files.filter(areaOf).map((file) => checkFile(file, readFileSync(file, 'utf8')))
  const reviews = results.reduce((sum, { reviews }) => sum + reviews, 0)
  return { hits: results.flatMap(({ hits }) => hits), reviews }
}

function run([option, folder = '.']) {
  const { hits, reviews } = checkAll(folder)
  if (option === '--list') {
    for (const { file, line, phrase, advice } of hits) console.log(`${file}:${line}: ${phrase} -> ${advice}`)
    return
  }
  for (const area of AREAS) {
    const count = hits.filter((hit) => hit.area === area).length
    const isAbove = count > ceilings[area]
    if (isAbove) process.exitCode = 1
    const advice = isAbove ? ': list them with "node scripts/voice.js --list FOLDER", and rewrite' : ''
    console.log(`${area}: ${count} banned phrases, at most ${ceilings[area]}${advice}`)
  }
  console.log(`to review: ${reviews}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) run(process.argv.slice(2))

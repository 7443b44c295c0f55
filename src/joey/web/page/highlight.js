// Colours for code: comments, strings, numbers and keywords, by one pass over the text. No grammar, and no surprises.

const WORDS = {
  c: "auto break case catch class const constexpr continue default delete do else enum explicit export extern false final float for friend goto if impl import in inline int let long match mod module mut namespace new nil null nullptr operator override package private protected public pub return self short signed sizeof static struct super switch template this throw trait true try type typedef typename union unsafe unsigned use using var virtual void volatile where while async await interface extends implements function fn func defer go chan map range string bool boolean number undefined typeof instanceof yield of from as",
  py: "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match case None nonlocal not or pass raise return self True try while with yield",
  sh: "if then else elif fi for while do done case esac function in return export local set unset echo cd exit sudo source alias",
  sql: "select from where and or not insert into values update set delete create table index view drop alter join left right inner outer on group by order having limit as distinct union null primary key references",
};
const KINDS = {
  __proto__: null, python: "py", py: "py", toml: "sh", yaml: "sh", yml: "sh", ini: "sh", bash: "sh", sh: "sh", shell: "sh", zsh: "sh",
  console: "sh", dockerfile: "sh", makefile: "sh", make: "sh", ruby: "py", rb: "py", sql: "sql",
};
const COMMENTS = { c: "//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)", py: "#[^\\n]*", sh: "#[^\\n]*", sql: "--[^\\n]*" };
const MAX_HIGHLIGHTED = 60000;
const RULES = new Map();

function rules(kind) {
  if (!RULES.has(kind)) {
    const strings = kind === "py" ? '"""[\\s\\S]*?(?:"""|$)|' + "'''[\\s\\S]*?(?:'''|$)|" : "";
    const quoted = '"(?:[^"\\\\\\n]|\\\\.)*"?|' + "'(?:[^'\\\\\\n]|\\\\.)*'?" + (kind === "c" ? "|`(?:[^`\\\\]|\\\\.)*`?" : "");
    RULES.set(kind, new RegExp(`(${COMMENTS[kind]})|(${strings}${quoted})|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`, "g"));
  }
  return RULES.get(kind);
}

export function languageOf(path) {
  const name = (path || "").split("/").pop().toLowerCase();
  const end = name.includes(".") ? name.split(".").pop() : name;
  return end;
}

export function highlight(code, language) {
  const into = document.createDocumentFragment();
  const name = (language || "").toLowerCase();
  if (code.length > MAX_HIGHLIGHTED || ["", "text", "txt", "md", "markdown", "diff", "log"].includes(name)) {
    into.append(code);
    return into;
  }
  const kind = KINDS[name] || "c";
  const words = new Set(WORDS[kind].split(" "));
  const pattern = rules(kind);
  pattern.lastIndex = 0;
  let end = 0;
  for (let found; (found = pattern.exec(code)); ) {
    const [text, comment, string, digits, word] = found;
    const known = word && words.has(kind === "sql" ? word.toLowerCase() : word);
    const role = comment ? "c" : string ? "s" : digits ? "n" : known ? "k" : "";
    if (!role) continue;
    into.append(code.slice(end, found.index));
    const span = document.createElement("span");
    span.className = `hl-${role}`;
    span.textContent = text;
    into.append(span);
    end = found.index + text.length;
  }
  into.append(code.slice(end));
  return into;
}

// The main flow over the Kotlin client of openapi-generator; prints a report as one line of JSON.
import com.squareup.moshi.Moshi
import kotlin.concurrent.thread
import kotlin.system.exitProcess
import okhttp3.OkHttpClient
import org.openapitools.client.apis.*
import org.openapitools.client.infrastructure.ClientError
import org.openapitools.client.infrastructure.ClientException
import org.openapitools.client.infrastructure.Serializer
import org.openapitools.client.models.*
import java.util.concurrent.TimeUnit

val url: String = System.getenv("RELAY_URL")

class Caller(token: String?) {
    private val http = OkHttpClient.Builder().readTimeout(60, TimeUnit.SECONDS).addInterceptor { chain ->
        val request = chain.request().newBuilder()
        if (token != null) request.header("Authorization", "Bearer $token")
        chain.proceed(request.build())
    }.build()
    val accounts = AccountsApi(url, http)
    val keys = KeysApi(url, http)
    val tasks = TasksApi(url, http)
    val questions = QuestionsApi(url, http)
    val inbox = InboxApi(url, http)
}

fun main() {
    val opened = Caller(null).accounts.createAccount(AccountCreate())
    val person = Caller(opened.token)
    val made = person.keys.createKey(KeyCreate("interop"))
    val agent = Caller(made.secret)
    val created = agent.tasks.createTask(TaskCreate(title = "Interop"))
    val change = TaskUpdate(progress = 50, status = RelayTaskStatus.IN_PROGRESS)
    val task = agent.tasks.updateTask(created.id, change)
    agent.tasks.createTask(TaskCreate(title = "Done", status = RelayTaskStatus.DONE))
    person.tasks.createTask(TaskCreate(title = "From the person", keyId = made.key.id))

    var question: Question? = null
    val asking = thread {
        val body = QuestionCreate("Which?", kind = QuestionKind.choice, options = listOf("a", "b"), taskId = task.id)
        question = agent.questions.askQuestion(body, wait = 20)
    }
    for (i in 1..100) {
        val pending = person.questions.listQuestions().questions.firstOrNull()
        if (pending != null) {
            person.questions.answerQuestion(pending.id, QuestionAnswer("b"))
            break
        }
        Thread.sleep(50)
    }
    asking.join()
    val answered = question!!

    val items = agent.inbox.readInbox(peek = true).items.map {
        mapOf(
            "id" to it.id, "type" to it.type.value, "from" to it.from.kind.value,
            "created_at" to it.createdAt, "task_updated_at" to it.task?.updatedAt,
        )
    }
    val filter = listOf(RelayTaskStatus.TODO, RelayTaskStatus.IN_PROGRESS)
    val open = agent.tasks.listTasks(status = filter).tasks.map { it.id }
    val error = try {
        agent.tasks.getTask("tsk_none")
        emptyMap()
    } catch (thrown: ClientException) {
        val body = (thrown.response as ClientError<*>).body as String
        val problem = Serializer.moshi.adapter(Problem::class.java).fromJson(body)!!
        mapOf("status" to thrown.statusCode, "code" to problem.code, "field" to problem.fields!!.keys.joinToString(","))
    }
    val report = mapOf(
        "token" to opened.token,
        "account" to mapOf("id" to opened.account.id, "created_at" to opened.account.createdAt),
        "key" to mapOf("id" to made.key.id, "created_at" to made.key.createdAt),
        "task" to mapOf(
            "id" to task.id, "created_at" to task.createdAt, "updated_at" to task.updatedAt,
            "seen_at" to task.seenAt, "completed_at" to task.completedAt,
            "progress" to task.progress, "status" to task.status.value,
        ),
        "question" to mapOf(
            "id" to answered.id, "status" to answered.status.value, "answer" to answered.answer,
            "created_at" to answered.createdAt, "answered_at" to answered.answeredAt,
            "expires_at" to answered.expiresAt,
        ),
        "items" to items,
        "open" to open,
        "error" to error,
        "events" to null,
    )
    println(Moshi.Builder().build().adapter(Any::class.java).serializeNulls().toJson(report))
    exitProcess(0)
}
